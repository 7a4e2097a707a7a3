/*
 * A symbols or index chunk of a finished recording: one payload of bytes, stored as it is or
 * compressed. docs/trace-format.md, section 9.
 */
#ifndef MALLOW_ANALYSIS_CHUNKS_EXTRA_CHUNK_H
#define MALLOW_ANALYSIS_CHUNKS_EXTRA_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "hosted/files/byte_source.h"

/* Where it stands; chunk_index_build() finds it. */
struct extra_chunk {
	uint64_t offset; /* in the file; 0: there is none */
	uint32_t size;   /* of the whole chunk */
	uint32_t committed;
};

/*
 * The payload, decompressed, without its storage byte: *data owned by the caller (free()), NULL
 * where there is none or it is damaged, which is no error. An error is the machine's.
 */
struct err *extra_chunk_fetch(const struct extra_chunk *chunk, const struct byte_source *source,
			      uint8_t **data, size_t *size);

#endif
