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

static void put_utf8(struct csv_writer *csv, const char *text)
{
	// In some countries cells end at semicolons, too.
	bool begins = true;

	for (size_t size = strlen(text); size;) {
		size_t length;
		uint32_t code = shown_code(text, size, &length);

		if (begins && !csv->raw && is_formula(*text))
			buf_char(csv->buf, '\'');
		begins = *text == ';';
		if (*text == '"')
			buf_char(csv->buf, '"'); // a quote is doubled
		if (code == UINT32_MAX)
			buf_text(csv->buf, "\xef\xbf\xbd");
		else if (!csv->raw && strncmp(text, "##", 2) == 0)
			buf_text(csv->buf, "\\x23");
		else if (!csv->raw && shown_is_hidden(code))
			buf_shown(csv->buf, text, length);
		else
			buf_put(csv->buf, text, length);
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

void csv_text(struct csv_writer *csv, const char *text)
{
	bool quoted = text && (strpbrk(text, ",\"\r\n") || is_command(text));

	begin_field(csv);
	if (quoted)
		buf_char(csv->buf, '"');
	if (text)
		put_utf8(csv, text);
	if (quoted)
		buf_char(csv->buf, '"');
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
