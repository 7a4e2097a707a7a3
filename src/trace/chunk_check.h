/* Checks the headers of recordings and chunks, and trailers: docs/trace-format.md, sections 2
 * and 3. */
#ifndef MALLOW_TRACE_CHUNK_CHECK_H
#define MALLOW_TRACE_CHUNK_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/format.h"

enum chunk_verdict {
	CHUNK_VALID,
	CHUNK_HOLE,    /* no chunk starts here */
	CHUNK_DAMAGED, /* the magic number is there, but other fields are impossible */
};

/*
 * Checks the chunk header at data, which has sizeof(*ret) bytes. CHUNK_VALID and CHUNK_DAMAGED set
 * *ret; CHUNK_DAMAGED also sets *expected to what should have stood there.
 */
enum chunk_verdict chunk_check(const void *data, struct trace_chunk *ret, const char **expected);

static inline uint32_t chunk_committed(const struct trace_chunk *chunk)
{
	return (uint32_t)chunk->commit;
}

static inline uint32_t chunk_sequence(const struct trace_chunk *chunk)
{
	return (uint32_t)(chunk->commit >> 32);
}

/* How many bytes of payload fit into a chunk of size bytes. */
static inline uint32_t chunk_room(uint32_t size)
{
	return size - (uint32_t)sizeof(struct trace_chunk) - TRACE_TRAILER_SIZE;
}

/*
 * Whether the checksum at the end of a sealed chunk is right. data: the whole chunk, size bytes
 * with the trailer.
 */
bool chunk_check_trailer(const void *data, size_t size);

enum header_verdict {
	HEADER_VALID,
	HEADER_FOREIGN, /* not a recording */
	HEADER_NEWER,   /* its major version is newer than this reader; *ret is set */
	HEADER_CUT,     /* a recording cut short within its header */
};

/*
 * Checks the header of a recording. data: the first size bytes of the file, at least sizeof(*ret)
 * unless the file is shorter. Sets *ret if the verdict is HEADER_VALID or HEADER_NEWER.
 */
enum header_verdict header_check(const void *data, size_t size, struct trace_header *ret);

#endif
