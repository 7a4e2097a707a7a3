/*
 * A symbols, index, curve or unseen chunk of a finished recording: a payload of bytes, perhaps
 * compressed. docs/trace-format.md, section 9.
 */
#ifndef MALLOW_ANALYSIS_CHUNKS_EXTRA_CHUNK_H
#define MALLOW_ANALYSIS_CHUNKS_EXTRA_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "hosted/files/byte_source.h"

/* Where the chunk is; chunk_index_build() finds it. */
struct extra_chunk {
	uint64_t offset; /* in the file; 0: there is none */
	uint32_t size;   /* of the whole chunk */
	uint32_t committed;
};

/*
 * Reads and decompresses the payload, without its storage byte. *data: owned by the caller
 * (free()); NULL: there is no such chunk, or it is damaged. Errors are the machine's only.
 */
struct err *extra_chunk_fetch(const struct extra_chunk *chunk, const struct byte_source *source,
			      uint8_t **data, size_t *size);

#endif
