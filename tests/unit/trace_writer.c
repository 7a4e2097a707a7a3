#include "trace_writer.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static void reserve(struct trace_writer *writer, size_t more)
{
	while (writer->capacity - writer->size < more) {
		writer->capacity = writer->capacity ? writer->capacity * 2 : 16384;
		writer->data = realloc(writer->data, writer->capacity);
		if (!writer->data)
			abort();
	}
}

void trace_writer_byte(struct trace_writer *writer, uint8_t byte)
{
	reserve(writer, 1);
	writer->data[writer->size++] = byte;
}

static void put_zeroes(struct trace_writer *writer, size_t count)
{
	reserve(writer, count);
	memset(writer->data + writer->size, 0, count);
	writer->size += count;
}

void trace_writer_poke(struct trace_writer *writer, size_t offset, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		writer->data[offset + i] = (uint8_t)(value >> (8 * i));
}

void trace_writer_init(struct trace_writer *writer)
{
	*writer = (struct trace_writer){0};
	put_zeroes(writer, 4096);
	memcpy(writer->data, "\x89MLW\r\n\x1a\n", 8);
	trace_writer_poke(writer, 8, 1, 2);
	trace_writer_poke(writer, 12, 4096, 4);
	for (int i = 0; i < 16; i++)
		writer->data[16 + i] = (uint8_t)(0xa0 + i);
	trace_writer_poke(writer, 48, 1234567, 4);
	trace_writer_poke(writer, 52, 1, 4);
	trace_writer_poke(writer, 56, 99, 8);
	trace_writer_poke(writer, 64, 62, 4);
	trace_writer_poke(writer, 68, 8, 1);
	trace_writer_poke(writer, 69, 1, 1);
	trace_writer_poke(writer, 70, 1, 1);
	trace_writer_poke(writer, 76, 1, 4);
	trace_writer_poke(writer, 80, 1000, 8);
	trace_writer_poke(writer, 88, 5000000, 8);
	trace_writer_poke(writer, 96, 1700000000000000000ull, 8);
	trace_writer_poke(writer, 104, 1, 4);
}

void trace_writer_deinit(struct trace_writer *writer)
{
	free(writer->data);
	writer->data = NULL;
}

void trace_writer_chunk(struct trace_writer *writer, uint32_t stream, uint32_t sequence,
			enum trace_writer_role role)
{
	size_t at = writer->size;

	put_zeroes(writer, 64);
	writer->chunk = at;
	writer->slot = role == TRACE_WRITER_SLOT;
	memcpy(writer->data + at, "\xd1MLWCHK\xa7", 8);
	trace_writer_poke(writer, at + 8, 1, 4);
	trace_writer_poke(writer, at + 16, stream, 4);
	trace_writer_poke(writer, at + 20, role, 4);
	trace_writer_poke(writer, at + 28, sequence, 4);
	trace_writer_clock(writer, 1000, 5000000);
	trace_writer_base(writer, 1000);
	writer->address = 0;
	writer->change_size = 0;
}

void trace_writer_base(struct trace_writer *writer, uint64_t ticks)
{
	trace_writer_poke(writer, writer->chunk + 48, ticks, 8);
	writer->base = writer->time = ticks;
}

void trace_writer_carried(struct trace_writer *writer, uint32_t frames)
{
	trace_writer_poke(writer, writer->chunk + 56, frames, 4);
}

void trace_writer_clock(struct trace_writer *writer, uint64_t ticks, uint64_t monotonic_ns)
{
	trace_writer_poke(writer, writer->chunk + 32, ticks, 8);
	trace_writer_poke(writer, writer->chunk + 40, monotonic_ns, 8);
}

void trace_writer_seal(struct trace_writer *writer)
{
	size_t payload = writer->size - writer->chunk - 64;
	size_t size = (64 + payload + 8 + 4095) / 4096 * 4096;

	put_zeroes(writer, size - 64 - payload);
	trace_writer_poke(writer, writer->chunk + 12, size, 4);
	trace_writer_poke(writer, writer->chunk + 24, payload, 4);
	if (!writer->slot)
		trace_writer_poke(writer, writer->chunk + size - 8,
				  XXH64(writer->data + writer->chunk, size - 8, 0), 8);
}

void trace_writer_varint(struct trace_writer *writer, uint64_t value)
{
	for (; value > 127; value /= 128)
		trace_writer_byte(writer, (uint8_t)(value % 128 + 128));
	trace_writer_byte(writer, (uint8_t)value);
}

static uint64_t zigzagged(int64_t value)
{
	return value < 0 ? 2 * (uint64_t) - (value + 1) + 1 : 2 * (uint64_t)value;
}

void trace_writer_signed(struct trace_writer *writer, int64_t value)
{
	trace_writer_varint(writer, zigzagged(value));
}

static void put_change(struct trace_writer *writer, uint64_t drop, unsigned int push, bool pcs,
		       va_list arguments)
{
	struct trace_writer change = {0};

	trace_writer_byte(&change,
			  (uint8_t)((drop < 15 ? drop : 15) + 16 * (push < 15 ? push : 15)));
	if (drop >= 15)
		trace_writer_varint(&change, drop - 15);
	if (push >= 15)
		trace_writer_varint(&change, push - 15);
	for (unsigned int i = 0; i < push; i++) {
		if (pcs)
			trace_writer_byte(&change, 0);
		trace_writer_varint(&change, va_arg(arguments, int));
	}
	if (change.size > sizeof(writer->change))
		abort();
	memcpy(writer->change, change.data, change.size);
	writer->change_size = change.size;
	free(change.data);
}

void trace_writer_push(struct trace_writer *writer, uint64_t drop, unsigned int push, ...)
{
	va_list arguments;

	va_start(arguments, push);
	put_change(writer, drop, push, false, arguments);
	va_end(arguments);
}

void trace_writer_push_pcs(struct trace_writer *writer, uint64_t drop, unsigned int push, ...)
{
	va_list arguments;

	va_start(arguments, push);
	put_change(writer, drop, push, true, arguments);
	va_end(arguments);
}

/* First byte and the waiting stack change. */
static void put_operation(struct trace_writer *writer, uint8_t first)
{
	trace_writer_byte(writer, first | (writer->change_size ? 0x20 : 0));
	for (size_t i = 0; i < writer->change_size; i++)
		trace_writer_byte(writer, writer->change[i]);
	writer->change_size = 0;
}

static void put_address(struct trace_writer *writer, uint64_t address)
{
	int64_t delta = (int64_t)(address - writer->address);

	if (delta % 16 == 0)
		trace_writer_varint(writer, 2 * zigzagged(delta / 16));
	else
		trace_writer_varint(writer, 2 * zigzagged(delta) + 1);
	writer->address = address;
}

static void put_time(struct trace_writer *writer, uint64_t dt)
{
	trace_writer_varint(writer, dt);
	writer->time += dt;
}

void trace_writer_allocate(struct trace_writer *writer, uint8_t operation, uint64_t dt,
			   uint64_t address, uint64_t size)
{
	put_operation(writer, operation);
	put_time(writer, dt);
	put_address(writer, address);
	trace_writer_varint(writer, size);
}

void trace_writer_allocate_extra(struct trace_writer *writer, uint8_t operation, uint64_t dt,
				 uint64_t address, uint64_t size, uint64_t extra)
{
	trace_writer_allocate(writer, operation | 0x40, dt, address, size);
	trace_writer_varint(writer, extra);
}

void trace_writer_allocate_aligned(struct trace_writer *writer, uint8_t operation, uint64_t dt,
				   uint64_t address, uint64_t size, uint64_t alignment)
{
	trace_writer_allocate(writer, operation, dt, address, size);
	trace_writer_varint(writer, alignment);
}

void trace_writer_realloc(struct trace_writer *writer, uint8_t operation, uint64_t dt,
			  uint64_t duration, uint64_t old_address, uint64_t address, uint64_t size)
{
	put_operation(writer, operation);
	put_time(writer, dt);
	put_time(writer, duration);
	put_address(writer, old_address);
	put_address(writer, address);
	trace_writer_varint(writer, size);
}

void trace_writer_free(struct trace_writer *writer, uint8_t operation, uint64_t dt,
		       uint64_t address)
{
	put_operation(writer, operation);
	put_time(writer, dt);
	put_address(writer, address);
}

void trace_writer_stack(struct trace_writer *writer)
{
	put_operation(writer, 23);
}

void trace_writer_time(struct trace_writer *writer, uint8_t operation, uint64_t ticks)
{
	put_operation(writer, operation);
	trace_writer_varint(writer, ticks);
	writer->time = ticks;
	if (operation == 25)
		writer->address = 0;
}

static void put_field(struct trace_writer *body, char letter, va_list *arguments)
{
	const char *text;
	size_t size;

	switch (letter) {
	case 'u':
		trace_writer_varint(body, va_arg(*arguments, uint64_t));
		return;
	case 's':
		trace_writer_signed(body, va_arg(*arguments, int64_t));
		return;
	default:
		text = va_arg(*arguments, const char *);
		size = strlen(text);
	}
	if (letter == 'b')
		trace_writer_varint(body, size);
	for (size_t i = 0; i < size; i++)
		trace_writer_byte(body, (uint8_t)text[i]);
}

void trace_writer_record(struct trace_writer *writer, uint8_t kind, const char *format, ...)
{
	struct trace_writer body = {0};
	va_list arguments;

	va_start(arguments, format);
	for (const char *p = format; *p; p++)
		put_field(&body, *p, &arguments);
	va_end(arguments);
	trace_writer_byte(writer, kind);
	trace_writer_varint(writer, body.size);
	for (size_t i = 0; i < body.size; i++)
		trace_writer_byte(writer, body.data[i]);
	free(body.data);
}

void trace_writer_frame(struct trace_writer *writer, uint64_t id, uint64_t pc, uint64_t module)
{
	trace_writer_record(writer, 0x81, "uuu", id, pc, module);
}

void trace_writer_module(struct trace_writer *writer, uint64_t ticks, uint64_t id, uint64_t bias,
			 uint64_t start, uint64_t end, const char *path)
{
	trace_writer_record(writer, 0x82, "suuuuubt", (int64_t)(ticks - writer->base), id,
			    UINT64_C(1), bias, start, end, "\x01\x02\x03\x04", path);
}

void trace_writer_end(struct trace_writer *writer, uint64_t ticks, uint64_t monotonic_ns)
{
	trace_writer_record(writer, 0x91, "suuu", (int64_t)(ticks - writer->base), monotonic_ns,
			    UINT64_C(1), UINT64_C(0));
}
