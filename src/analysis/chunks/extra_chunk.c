#include "analysis/chunks/extra_chunk.h"

#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/zstd_frame.h"
#include "trace/chunk_check.h"

/*
 * The most that a chunk may claim to hold: so much, or RATIO_MAX times its size. Names and sums
 * never compress better, and a small file must not make us ask for a gigabyte.
 */
#define CONTENT_PLAUSIBLE (16u << 20)
#define RATIO_MAX         500

/* Decompresses the frame at data, which follows the storage byte. *ret NULL: it is no frame. */
static struct err *decompress(const uint8_t *data, size_t size, uint8_t **ret, size_t *ret_size)
{
	auto_free uint8_t *content = NULL;
	struct err *err;
	uint64_t room;
	bool whole;
	size_t got;

	if (!zstd_frame_content(data, size, &room) || room > TRACE_CONTENT_MAX ||
	    (room > CONTENT_PLAUSIBLE && room / RATIO_MAX > size))
		return NULL;
	content = malloc(room ? room : 1);
	if (!content)
		return err_no_memory();
	err = zstd_frame_read(data, size, content, room, &got, &whole);
	if (err || !whole || got != room)
		return err;
	*ret = steal(&content);
	*ret_size = got;
	return NULL;
}

static struct err *unwrap(const uint8_t *payload, size_t size, uint8_t **ret, size_t *ret_size)
{
	auto_free uint8_t *content = NULL;

	if (!size)
		return NULL;
	if (*payload == TRACE_STORAGE_ZSTD)
		return decompress(payload + 1, size - 1, ret, ret_size);
	if (*payload != TRACE_STORAGE_RAW)
		return NULL;
	content = malloc(size);
	if (!content)
		return err_no_memory();
	memcpy(content, payload + 1, size - 1);
	*ret = steal(&content);
	*ret_size = size - 1;
	return NULL;
}

struct err *extra_chunk_fetch(const struct extra_chunk *chunk, const struct byte_source *source,
			      uint8_t **data, size_t *size)
{
	auto_free uint8_t *bytes = NULL;
	uint8_t *content = NULL;
	size_t got, content_size = 0;
	struct err *err;

	if (chunk->offset) {
		bytes = malloc(chunk->size);
		if (!bytes)
			return err_no_memory();
		err = byte_source_read(source, chunk->offset, bytes, chunk->size, &got);
		if (err)
			return err;
		if (got == chunk->size && chunk_check_trailer(bytes, got)) {
			err = unwrap(bytes + sizeof(struct trace_chunk), chunk->committed, &content,
				     &content_size);
			if (err)
				return err;
		}
	}
	*data = content;
	*size = content_size;
	return NULL;
}
