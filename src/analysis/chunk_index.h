/*
 * Where the chunks of each stream are, in the order in which they are to be read: slots weighed
 * against sealed copies, holes skipped, gaps and damage counted.
 */
#ifndef MALLOW_ANALYSIS_CHUNK_INDEX_H
#define MALLOW_ANALYSIS_CHUNK_INDEX_H

#include "analysis/damage.h"
#include "hosted/byte_source.h"
#include "hosted/vec.h"
#include "trace/chunk_check.h"

struct indexed_chunk {
	uint64_t offset;
	struct trace_chunk header;
	uint8_t *
		copy; /* of a slot: its committed payload, owned; NULL: none committed, or sealed */
};

struct chunk_index {
	VEC(struct indexed_chunk) chunks; /* by stream, then sequence, each of these once */
	uint64_t file_size;               /* when the walk ended */
	uint64_t payload;                 /* committed bytes of all chunks */
	uint64_t missing;                 /* gaps in sequences */
	/* The latest pair of clock readings of all chunks; 0, 0: no chunk. */
	uint64_t latest_ticks, latest_monotonic_ns;
};

/*
 * Walks the file. A slot is copied at once and the walk goes on to where the file ends after
 * that, so that of a file being written every chunk before a slot's sequence is found.
 */
struct err *chunk_index_build(const struct byte_source *source, struct damage *damage,
			      struct chunk_index *ret);
void chunk_index_deinit(struct chunk_index *index);

#endif
