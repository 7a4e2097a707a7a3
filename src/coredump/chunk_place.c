#include "coredump/chunk_place.h"

#include <string.h>

#include "trace/byte_order.h"
#include "trace/chunk_check.h"
#include "trace/decode.h"
#include "trace/header_check.h"
#include "trace/live_place.h"

/* Head of a live chunk: the chunk's header, and struct live_chunk. */
#define HEAD_SIZE (LIVE_CHUNK_OFFSET + sizeof(struct live_chunk))

/* A place must be possible: in whole pages, behind the header. */
static bool is_possible(const struct chunk_place *place)
{
	return place->offset >= TRACE_PAGE && place->offset % TRACE_PAGE == 0 &&
	       !(place->offset >> CHUNK_PLACE_BITS);
}

static bool read_live(const uint8_t *raw, const uint8_t *head, struct chunk_place *ret)
{
	struct live_place place, raw_place;

	memcpy(&place, head + LIVE_PLACE_OFFSET, sizeof(place));
	memcpy(&raw_place, raw + LIVE_PLACE_OFFSET, sizeof(raw_place));
	// The checksum is of the bytes as they were written; only itself is a number.
	if (live_place_checksum(raw, raw + LIVE_CHUNK_OFFSET) != place.checksum)
		return false;
	memcpy(ret->id, raw_place.id, sizeof(ret->id));
	ret->offset = place.offset;
	ret->address = place.address;
	return true;
}

/* The first record of an events chunk. */
static bool read_events(const uint8_t *payload, size_t size, struct chunk_place *ret)
{
	struct decode_stream stream = {0};
	struct decode_event event;

	if (decode_chunk(&stream, payload, (uint32_t)size, 0, 0, true) != DECODE_RECORD ||
	    decode_next(&stream, &event) != DECODE_RECORD || event.kind != TRACE_RECORD_PLACE)
		return false;
	memcpy(ret->id, event.place.id, sizeof(ret->id));
	ret->offset = event.place.offset;
	ret->address = event.place.address;
	return true;
}

bool chunk_place_read(const uint8_t *data, size_t size, struct chunk_place *ret)
{
	uint8_t head[HEAD_SIZE];
	struct trace_chunk chunk;
	const char *expected;
	size_t committed;

	if (size < HEAD_SIZE)
		return false;
	memcpy(head, data, sizeof(head));
	byte_order_turn_head(head);
	if (chunk_check(head, &chunk, &expected) != CHUNK_VALID)
		return false;
	ret->size = chunk.size;
	committed = chunk_committed(&chunk);
	if (committed > size - sizeof(chunk))
		committed = size - sizeof(chunk);
	if (chunk.kind == TRACE_CHUNK_LIVE     ? !read_live(data, head, ret)
	    : chunk.kind == TRACE_CHUNK_EVENTS ? !read_events(data + sizeof(chunk), committed, ret)
					       : true)
		return false;
	return is_possible(ret);
}

bool chunk_place_of_header(const uint8_t *data, size_t size, uint8_t id[16], uint32_t *pid)
{
	uint8_t page[BYTE_ORDER_HEADER];
	struct trace_header header;

	if (size < sizeof(page))
		return false;
	memcpy(page, data, sizeof(page));
	byte_order_turn_header(page);
	if (header_check(page, sizeof(page), &header) != HEADER_VALID ||
	    header.header_size != TRACE_PAGE || !(header.flags & TRACE_LIVE))
		return false;
	memcpy(id, header.id, sizeof(header.id));
	*pid = header.pid;
	return true;
}
