#include "report/words/style.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const inks[] = {
	[STYLE_STRONG] = "\033[1m",
	[STYLE_DIM] = "\033[2m",
	[STYLE_NAME] = "\033[36m",
	[STYLE_WARN] = "\033[33m",
};

void style_begin(struct buf *buf, const struct style *style, enum style_ink ink)
{
	if (style->colour)
		buf_text(buf, inks[ink]);
}

void style_end(struct buf *buf, const struct style *style)
{
	if (style->colour)
		buf_text(buf, "\033[0m");
}

void style_printf(struct buf *buf, const struct style *style, enum style_ink ink,
		  const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	style_begin(buf, style, ink);
	buf_text(buf, text);
	style_end(buf, style);
}

void style_safe_text(struct buf *buf, const char *text, size_t size)
{
	buf_shown(buf, text, size);
}

size_t style_columns(const char *text, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}
