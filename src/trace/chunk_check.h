/* Chunk headers and trailers: docs/trace-format.md, section 3. */
#ifndef MALLOW_TRACE_CHUNK_CHECK_H
#define MALLOW_TRACE_CHUNK_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/format.h"

enum chunk_verdict {
	CHUNK_VALID,
	CHUNK_HOLE,    /* no chunk starts here */
	CHUNK_DAMAGED, /* its magic is there, but its fields cannot be true */
};

/* Data: sizeof(*ret) bytes. *expected says what a damaged one should have had; *ret is set. */
enum chunk_verdict chunk_check(const void *data, struct trace_chunk *ret, const char **expected);

static inline uint32_t chunk_committed(const struct trace_chunk *chunk)
{
	return (uint32_t)chunk->commit;
}

static inline uint32_t chunk_sequence(const struct trace_chunk *chunk)
{
	return (uint32_t)(chunk->commit >> 32);
}

/* Bytes of payload that fit into a chunk of a size. */
static inline uint32_t chunk_room(uint32_t size)
{
	return size - (uint32_t)sizeof(struct trace_chunk) - TRACE_TRAILER_SIZE;
}

/* data: a whole sealed chunk of that size, trailer included. */
bool chunk_check_trailer(const void *data, size_t size);

#endif
