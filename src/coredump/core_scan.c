#include "coredump/core_scan.h"

#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/files/byte_source.h"
#include "trace/byte_order.h"
#include "trace/checksum.h"
#include "trace/chunk_check.h"
#include "trace/decode.h"

#define WINDOW  (1u << 20)
#define OVERLAP 4096u /* no header is longer */

/* Head of a live chunk: the chunk's header, and struct live_chunk. */
#define HEAD_SIZE (LIVE_CHUNK_OFFSET + sizeof(struct live_chunk))

/* A place must be possible: in whole pages, behind the header. */
static bool is_possible(const struct chunk_place *place)
{
	return place->offset >= TRACE_PAGE && place->offset % TRACE_PAGE == 0 &&
	       !(place->offset >> CORE_SCAN_TABLE_BITS);
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

/* false: there is no chunk of a live table at data, or it does not say its place. */
static bool read_place(const uint8_t *data, size_t size, struct chunk_place *ret)
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

/* false: there is no header of a live table at data. */
static bool read_header(const uint8_t *data, size_t size, uint8_t id[16], uint32_t *pid)
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

struct scanning {
	struct core_scan *scan;
	const uint8_t *window;
	size_t size;
	size_t segment;
	uint64_t start; /* of the window in the segment */
};

void core_scan_deinit(struct core_scan *scan)
{
	vec_deinit(&scan->headers);
	vec_deinit(&scan->chunks);
}

typedef struct err *take_hit(const struct scanning *scanning, size_t at);

static struct err *take_header(const struct scanning *scanning, size_t at)
{
	struct found_header header = {.segment = scanning->segment, .at = scanning->start + at};

	if (!read_header(scanning->window + at, scanning->size - at, header.id, &header.pid))
		return NULL;
	return vec_push(&scanning->scan->headers, header) ? NULL : err_no_memory();
}

static struct err *take_chunk(const struct scanning *scanning, size_t at)
{
	struct found_chunk chunk = {.segment = scanning->segment, .at = scanning->start + at};

	if (!read_place(scanning->window + at, scanning->size - at, &chunk.place))
		return NULL;
	return vec_push(&scanning->scan->chunks, chunk) ? NULL : err_no_memory();
}

/* Calls take for each place of the window, before `end`, where these 8 bytes are. */
static struct err *look_for(const struct scanning *scanning, size_t end, uint64_t magic,
			    take_hit *take)
{
	const uint8_t *from = scanning->window, *hit;
	struct err *err = NULL;

	while (!err) {
		hit = memmem(from, scanning->size - (size_t)(from - scanning->window), &magic,
			     sizeof(magic));
		if (!hit || (size_t)(hit - scanning->window) >= end)
			break;
		err = take(scanning, (size_t)(hit - scanning->window));
		from = hit + 1;
	}
	return err;
}

static struct err *look_at_window(const struct scanning *scanning, size_t end)
{
	struct err *err = look_for(scanning, end, TRACE_MAGIC, take_header);

	if (!err)
		err = look_for(scanning, end, TRACE_CHUNK_MAGIC, take_chunk);
	if (!err)
		err = look_for(scanning, end, __builtin_bswap64(TRACE_CHUNK_MAGIC), take_chunk);
	return err;
}

static struct err *scan_segment(const char *name, struct scanning *scanning,
				const struct core_segment *segment, uint8_t *window)
{
	const struct byte_source source = {.name = name, .fd = segment->fd};
	struct err *err = NULL;

	scanning->window = window;
	for (uint64_t at = 0; !err && at < segment->held; at += WINDOW) {
		// No header is in a hole, and none begins there: a dump may be sparse and huge.
		uint64_t next = byte_source_next(&source, segment->offset + at) - segment->offset;
		uint64_t left;

		if (next >= segment->held)
			break;
		at = next;
		left = segment->held - at;
		size_t wanted = left < WINDOW + OVERLAP ? (size_t)left : WINDOW + OVERLAP;

		err = byte_source_read(&source, segment->offset + at, window, wanted,
				       &scanning->size);
		scanning->start = at;
		if (!err)
			err = look_at_window(scanning, WINDOW);
	}
	return err;
}

struct err *core_scan_read(const char *name, const struct core_image *image, struct core_scan *ret)
{
	auto_free uint8_t *window = malloc(WINDOW + OVERLAP);
	struct scanning scanning = {.scan = ret};
	struct err *err = NULL;

	if (!window)
		return err_no_memory();
	for (size_t i = 0; !err && i < image->segments.count; i++) {
		scanning.segment = i;
		err = scan_segment(name, &scanning, &image->segments.items[i], window);
	}
	return err;
}
