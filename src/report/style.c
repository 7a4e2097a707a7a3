#include "report/style.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hosted/utf8.h"

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

/* How many bytes from text on are printable ASCII: nearly all of nearly every text. */
static size_t plain_length(const char *text, size_t size)
{
	size_t i = 0;

	while (i < size && text[i] >= 0x20 && text[i] < 0x7f)
		i++;
	return i;
}

void style_safe_text(struct buf *buf, const char *text, size_t size)
{
	for (;;) {
		size_t length = plain_length(text, size);
		unsigned char first;

		buf_put(buf, text, length);
		text += length;
		size -= length;
		if (!size)
			return;
		first = (unsigned char)*text;
		length = utf8_sequence(text, size);
		if (length > 1 && (first != 0xc2 || (unsigned char)text[1] >= 0xa0)) {
			buf_put(buf, text, length);
		} else { // a control character, or no UTF-8
			buf_text(buf, "\xef\xbf\xbd");
			if (!length)
				length = utf8_invalid(text, size);
		}
		text += length;
		size -= length;
	}
}

size_t style_columns(const char *text, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}
