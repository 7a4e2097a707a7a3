#include "agent/report/report_writer.h"

#include <errno.h>
#include <mallow/mallow.h>

#include "agent/arch/syscall.h"
#include "agent/ground/libc.h"
#include "base/shown_text.h"

#define BUFFER_SIZE (64u << 10)

static void flush(struct report_writer *writer)
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
		flush(writer);
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
	flush(writer);
	return writer->failed ? -1 : 0;
}
