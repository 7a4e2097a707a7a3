#include "agent/report/report_json.h"

#include "agent/ground/libc.h"
#include "base/shown_text.h"

/* Puts a comma, except after an opening bracket and at the very beginning. */
static void separate(struct report_writer *writer)
{
	char last = writer->last;

	if (last && last != '{' && last != '[')
		report_put_char(writer, ',');
}

/* Writes a hidden code point (base/shown_text.h), beyond U+FFFF as two. */
static void put_hidden(struct report_writer *writer, uint32_t code)
{
	if (code == UINT32_MAX)
		code = 0xfffd; // no UTF-8
	if (code > 0xffff) {
		put_hidden(writer, 0xd7c0 + (code >> 10));
		code = 0xdc00 + (code & 0x3ff);
	}
	report_put(writer, "\\u");
	for (int shift = 12; shift >= 0; shift -= 4)
		report_put_char(writer, "0123456789abcdef"[code >> shift & 15]);
}

static void put_text(struct report_writer *writer, const char *text)
{
	size_t length;

	report_put_char(writer, '"');
	for (size_t left = strlen(text); left; text += length, left -= length) {
		uint32_t code = shown_code(text, left, &length);

		if (shown_is_hidden(code)) {
			put_hidden(writer, code);
			continue;
		}
		if (code == '"' || code == '\\')
			report_put_char(writer, '\\');
		for (size_t i = 0; i < length; i++)
			report_put_char(writer, text[i]);
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
