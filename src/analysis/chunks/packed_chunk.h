/*
 * Several events chunks of one stream, compressed together: docs/trace-format.md, section 9.
 * Their headers stand uncompressed in front of one zstd frame with their payloads.
 */
#ifndef MALLOW_ANALYSIS_CHUNKS_PACKED_CHUNK_H
#define MALLOW_ANALYSIS_CHUNKS_PACKED_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/files/byte_source.h"
#include "trace/columns.h"
#include "trace/format.h"

struct packed_chunk {
	uint64_t offset;
	uint32_t size;       /* of the whole chunk */
	uint32_t committed;  /* of its payload */
	uint8_t storage;     /* enum trace_storage */
	uint32_t count;      /* events chunks inside */
	uint32_t headers_at; /* where in the payload the first of their headers stands */
	uint32_t content;    /* bytes of all their payloads together */
};

static inline size_t packed_chunk_room(const struct packed_chunk *packed)
{
	return packed->content + COLUMNS_SLACK;
}

/*
 * Reads the headers inside the chunk at offset, whose own header was found valid. *headers:
 * packed->count of them, owned by the caller (free()). *expected: NULL, or what should have been
 * there; then nothing else is set.
 */
struct err *packed_chunk_read_headers(const struct byte_source *source, uint64_t offset,
				      const struct trace_chunk *header, struct packed_chunk *packed,
				      struct trace_chunk **headers, const char **expected);

/*
 * The payloads one after the other into content, packed_chunk_room() bytes of room. *got: how many
 * bytes could be decompressed. *expected: NULL, or what of the chunk is not as it should be.
 */
struct err *packed_chunk_read_content(const struct byte_source *source,
				      const struct packed_chunk *packed, uint8_t *content,
				      size_t *got, const char **expected);

#endif
