#include "agent/report/report_json.h"

/* Puts a comma, except after an opening bracket and at the very beginning. */
static void separate(struct report_writer *writer)
{
	char last = writer->last;

	if (last && last != '{' && last != '[')
		report_put_char(writer, ',');
}

/* The size in bytes of the first character of text; 0: it is not UTF-8 (Unicode, table 3-6). */
static int character_size(const char *text)
{
	unsigned char c = (unsigned char)*text;
	int size = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;

	for (int i = 1; i < size; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
	return size;
}

static void put_escaped(struct report_writer *writer, unsigned char c)
{
	if (c < 0x20) {
		report_put(writer, "\\u00");
		report_put_char(writer, "0123456789abcdef"[c >> 4]);
		report_put_char(writer, "0123456789abcdef"[c & 15]);
		return;
	}
	if (c == '"' || c == '\\')
		report_put_char(writer, '\\');
	report_put_char(writer, (char)c);
}

static void put_text(struct report_writer *writer, const char *text)
{
	report_put_char(writer, '"');
	while (*text) {
		int size = character_size(text);

		if (size == 1)
			put_escaped(writer, (unsigned char)*text);
		else if (!size)
			report_put(writer, "\\ufffd");
		for (int i = 0; size > 1 && i < size; i++)
			report_put_char(writer, text[i]);
		text += size ? size : 1;
	}
	report_put_char(writer, '"');
}

static void begin_value(struct report_writer *writer, const char *name)
{
	separate(writer);
	if (!name)
		return;
	put_text(writer, name);
	report_put_char(writer, ':');
}

void report_json_open(struct report_writer *writer, const char *name, char c)
{
	begin_value(writer, name);
	report_put_char(writer, c);
}

void report_json_close(struct report_writer *writer, char c)
{
	report_put_char(writer, c);
}

void report_json_number(struct report_writer *writer, const char *name, uint64_t number)
{
	begin_value(writer, name);
	report_put_number(writer, number);
}

void report_json_text(struct report_writer *writer, const char *name, const char *text)
{
	begin_value(writer, name);
	if (text)
		put_text(writer, text);
	else
		report_put(writer, "null");
}

void report_json_hex(struct report_writer *writer, const char *name, uint64_t number, int digits)
{
	begin_value(writer, name);
	report_put_char(writer, '"');
	report_put_hex(writer, number, digits);
	report_put_char(writer, '"');
}
