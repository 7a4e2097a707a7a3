#include "agent/report/report_writer.h"

#include <errno.h>
#include <mallow/mallow.h>

#include "agent/arch/syscall.h"
#include "agent/ground/libc.h"
#include "base/shown_text.h"

#define BUFFER_SIZE (64u << 10)

static void flush_text(struct report_writer *writer)
{
	const char *from = writer->buffer;

	while (!writer->failed && writer->used) {
		long written = sys_write(writer->fd, from, writer->used);

		if (written == -EINTR)
			continue;
		if (written <= 0) {
			writer->failed = true;
			break;
		}
		from += written;
		writer->used -= (size_t)written;
	}
	writer->used = 0;
}

void report_writer_begin(struct report_writer *writer, int fd, struct report_memory *memory)
{
	*writer = (struct report_writer){
		.fd = fd,
		.buffer = report_memory_take(memory, BUFFER_SIZE),
	};
	writer->failed = !writer->buffer;
}

static void put_byte(struct report_writer *writer, char c)
{
	if (writer->failed)
		return;
	if (writer->used == BUFFER_SIZE)
		flush_text(writer);
	writer->buffer[writer->used++] = c;
	writer->last = c;
}

void report_put_char(struct report_writer *writer, char c)
{
	if (writer->quoted && c == '"')
		put_byte(writer, c);
	put_byte(writer, c);
}

void report_put(struct report_writer *writer, const char *text)
{
	while (*text)
		report_put_char(writer, *text++);
}

void report_put_shown(struct report_writer *writer, const char *text)
{
	size_t left = strlen(text), size;
	char escaped[SHOWN_ESCAPED];
	const char *piece;

	while ((size = shown_piece(&text, &left, escaped, &piece)))
		for (size_t i = 0; i < size; i++)
			report_put_char(writer, piece[i]);
}

void report_put_number(struct report_writer *writer, uint64_t number)
{
	char digits[20];
	size_t count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count)
		report_put_char(writer, digits[--count]);
}

void report_put_hex(struct report_writer *writer, uint64_t number, int digits)
{
	bool begun = false;

	report_put(writer, "0x");
	for (int i = 15; i >= 0; i--) {
		unsigned int digit = number >> (4 * i) & 15;

		begun = begun || digit || i < digits;
		if (begun)
			report_put_char(writer, "0123456789abcdef"[digit]);
	}
}

void report_put_size(struct report_writer *writer, uint64_t bytes)
{
	char text[MALLOW_SIZE_TEXT];

	report_put(writer, mallow_format_size(bytes, text));
}

int report_writer_end(struct report_writer *writer)
{
	flush_text(writer);
	return writer->failed ? -1 : 0;
}

/* Puts a comma, except after an opening bracket and at the very beginning. */
static void put_comma(struct report_writer *writer)
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
	put_comma(writer);
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
