#include "hosted/csv_writer.h"

#include <string.h>

#include "base/shown_text.h"

static void begin_field(struct csv_writer *csv)
{
	if (csv->in_row)
		buf_char(csv->buf, ',');
	csv->in_row = true;
}

/* What a spreadsheet takes for a formula if a cell begins with it. */
static bool is_formula(char c)
{
	return c && strchr("=+-@\t\r", c);
}

/* How many bytes from text on stay as they are, wherever they stand in a cell. */
static size_t plain_run(const char *text, size_t size)
{
	// All of ASCII that is shown, but '"', '#' and ';'.
	static const bool plain[256] = {
		[' ' ... '!'] = true,
		['$' ... ':'] = true,
		['<' ... '~'] = true,
	};
	size_t i = 0;

	while (i < size && plain[(unsigned char)text[i]])
		i++;
	return i;
}

static void put_utf8(struct buf *buf, bool raw, const char *text)
{
	// In some countries cells end at semicolons, too.
	bool begins = true;

	for (size_t size = strlen(text); size;) {
		size_t length = begins ? 0 : plain_run(text, size);
		uint32_t code;

		if (length) {
			buf_put(buf, text, length);
			text += length;
			size -= length;
			continue;
		}
		code = shown_code(text, size, &length);
		if (begins && !raw && is_formula(*text))
			buf_char(buf, '\'');
		begins = *text == ';';
		if (*text == '"')
			buf_char(buf, '"'); // a quote is doubled
		if (code == UINT32_MAX)
			buf_text(buf, "\xef\xbf\xbd");
		else if (!raw && strncmp(text, "##", 2) == 0)
			buf_text(buf, "\\x23");
		else if (!raw && shown_is_hidden(code))
			buf_shown(buf, text, length);
		else
			buf_put(buf, text, length);
		text += length;
		size -= length;
	}
}

/* Whether a line that begins so is a command to a machine that runs builds, in whose log it is. */
static bool is_command(const char *text)
{
	while (*text && ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x80))
		text++;
	return strncmp(text, "::", 2) == 0;
}

static bool needs_quotes(const char *text)
{
	return strpbrk(text, ",\"\r\n") || is_command(text);
}

bool csv_escape(const struct csv_writer *csv, struct buf *buf, const char *text)
{
	put_utf8(buf, csv->raw, text);
	return needs_quotes(text);
}

void csv_begin(struct csv_writer *csv, bool quoted)
{
	begin_field(csv);
	if (quoted)
		buf_char(csv->buf, '"');
}

void csv_end(struct csv_writer *csv, bool quoted)
{
	if (quoted)
		buf_char(csv->buf, '"');
}

void csv_text(struct csv_writer *csv, const char *text)
{
	bool quoted = text && needs_quotes(text);

	csv_begin(csv, quoted);
	if (text)
		put_utf8(csv->buf, csv->raw, text);
	csv_end(csv, quoted);
}

void csv_u64(struct csv_writer *csv, uint64_t value)
{
	begin_field(csv);
	buf_u64(csv->buf, value);
}

void csv_i64(struct csv_writer *csv, int64_t value)
{
	begin_field(csv);
	buf_printf(csv->buf, "%lld", (long long)value);
}

void csv_empty(struct csv_writer *csv)
{
	begin_field(csv);
}

void csv_end_row(struct csv_writer *csv)
{
	buf_text(csv->buf, "\r\n");
	csv->in_row = false;
}

void csv_words(struct csv_writer *csv, const char *words)
{
	while (*words) {
		size_t length = strcspn(words, " ");

		begin_field(csv);
		buf_put(csv->buf, words, length);
		words += length + (words[length] == ' ');
	}
	csv_end_row(csv);
}
