#include "hosted/protobuf_writer.h"

#include <string.h>

/* The wire type of a field: the low three bits of its tag. */
#define WIRE_VARINT 0
#define WIRE_64     1
#define WIRE_BYTES  2

static void put_tag(struct buf *buf, uint32_t field, uint32_t wire)
{
	buf_varint(buf, (uint64_t)field << 3 | wire);
}

static size_t varint_size(uint64_t value)
{
	size_t size = 1;

	for (; value >= 0x80; value >>= 7)
		size++;
	return size;
}

void protobuf_u64(struct buf *buf, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	put_tag(buf, field, WIRE_VARINT);
	buf_varint(buf, value);
}

void protobuf_fixed64(struct buf *buf, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	put_tag(buf, field, WIRE_64);
	for (int i = 0; i < 8; i++)
		buf_char(buf, (char)(value >> 8 * i));
}

static void put_bytes(struct buf *buf, uint32_t field, const void *data, size_t size)
{
	put_tag(buf, field, WIRE_BYTES);
	buf_varint(buf, size);
	buf_put(buf, data, size);
}

void protobuf_text(struct buf *buf, uint32_t field, const char *text)
{
	put_bytes(buf, field, text, strlen(text));
}

void protobuf_packed(struct buf *buf, uint32_t field, const uint64_t *values, size_t count)
{
	size_t size = 0;

	if (!count)
		return;
	for (size_t i = 0; i < count; i++)
		size += varint_size(values[i]);
	put_tag(buf, field, WIRE_BYTES);
	buf_varint(buf, size);
	for (size_t i = 0; i < count; i++)
		buf_varint(buf, values[i]);
}

void protobuf_message(struct buf *buf, uint32_t field, struct buf *inner)
{
	if (inner->failure && !buf->failure)
		buf->failure = inner->failure;
	put_bytes(buf, field, inner->data, inner->size);
	inner->size = 0;
}
