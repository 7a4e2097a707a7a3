#include "coredump/core_scan.h"

#include <string.h>

#include "coredump/chunk_place.h"
#include "hosted/cleanup.h"
#include "hosted/files/byte_source.h"

#define WINDOW  (1u << 20)
#define OVERLAP 4096u /* no header is longer */

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

	if (!chunk_place_of_header(scanning->window + at, scanning->size - at, header.id,
				   &header.pid))
		return NULL;
	return vec_push(&scanning->scan->headers, header) ? NULL : err_no_memory();
}

static struct err *take_chunk(const struct scanning *scanning, size_t at)
{
	struct found_chunk chunk = {.segment = scanning->segment, .at = scanning->start + at};
	struct chunk_place place;

	if (!chunk_place_read(scanning->window + at, scanning->size - at, &place))
		return NULL;
	memcpy(chunk.id, place.id, sizeof(chunk.id));
	chunk.offset = place.offset;
	chunk.size = place.size;
	chunk.address = place.address;
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
