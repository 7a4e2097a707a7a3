/*
 * A packed chunk: several events chunks of one stream, compressed together (docs/trace-format.md,
 * section 9). It holds their headers uncompressed, and then their payloads, compressed.
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
	uint32_t headers_at; /* where in the payload the first header stands */
	uint32_t content;    /* bytes of their payloads together */
};

static inline size_t packed_chunk_room(const struct packed_chunk *packed)
{
	return packed->content + COLUMNS_SLACK;
}

/*
 * Reads the headers inside the packed chunk at offset, whose own header is valid. *headers:
 * packed->count headers, owned by the caller (free()). *expected: NULL; or what should have stood
 * there, and then nothing else is set.
 */
struct err *packed_chunk_read_headers(const struct byte_source *source, uint64_t offset,
				      const struct trace_chunk *header, struct packed_chunk *packed,
				      struct trace_chunk **headers, const char **expected);

/*
 * Reads the payloads into content, one after the other; it must have packed_chunk_room() bytes.
 * *got: how many bytes could be decompressed. *expected: NULL; or what should be there, because the
 * chunk is damaged.
 */
struct err *packed_chunk_read_content(const struct byte_source *source,
				      const struct packed_chunk *packed, uint8_t *content,
				      size_t *got, const char **expected);

#endif
