#include "report/words/style.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* The end of the word at text: a blank that is in no quotes, or the end of the text. */
static const char *word_end(const char *text, bool quotes)
{
	bool quoted = false;

	for (; *text && (quoted || *text != ' '); text++)
		quoted ^= quotes && *text == '\'';
	return text;
}

void style_wrap(struct buf *buf, const struct style *style, const char *text, size_t column,
		size_t indent, bool command)
{
	size_t width = style->full ? 0 : style->width;
	size_t mark = command ? strlen(" \\") : 0;
	bool first = true;

	while (*text) {
		size_t blanks = strspn(text, " ");
		const char *end = word_end(text + blanks, command);
		size_t columns = style_columns(text, (size_t)(end - text));
		size_t tail = *end ? mark : 0;

		if (!first && width && column + columns + tail > width) {
			buf_text(buf, command ? " \\\n" : "\n");
			buf_repeat(buf, ' ', indent);
			text += blanks;
			columns -= blanks;
			column = indent;
		}
		buf_put(buf, text, (size_t)(end - text));
		column += columns;
		text = end;
		first = false;
	}
	buf_char(buf, '\n');
}

void style_warning(struct buf *buf, const struct style *style, const char *text)
{
	static const char mark[] = "  ! ";

	style_begin(buf, style, STYLE_WARN);
	buf_text(buf, mark);
	style_wrap(buf, style, text, strlen(mark), strlen(mark), false);
	style_end(buf, style);
}
