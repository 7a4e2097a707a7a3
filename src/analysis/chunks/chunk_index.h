/*
 * Where the chunks of each stream are, in the order in which they are to be read: slots weighed
 * against sealed copies, holes skipped, gaps and damage counted.
 */
#ifndef MALLOW_ANALYSIS_CHUNKS_CHUNK_INDEX_H
#define MALLOW_ANALYSIS_CHUNKS_CHUNK_INDEX_H

#include "analysis/chunks/damage.h"
#include "analysis/chunks/extra_chunk.h"
#include "analysis/chunks/packed_chunk.h"
#include "hosted/files/byte_source.h"
#include "hosted/vec.h"
#include "trace/chunk_check.h"

#define CHUNK_UNPACKED UINT32_MAX

/* One events chunk, in the file by itself or inside a packed one. */
struct indexed_chunk {
	uint64_t offset; /* of the chunk, or of the packed one that holds it */
	struct trace_chunk header;
	/* Of a slot: its committed payload, owned. NULL: none is committed, or it is sealed. */
	uint8_t *copy;
	uint32_t pack;    /* index into packs, CHUNK_UNPACKED: in the file by itself */
	uint32_t pack_at; /* where its payload begins in the pack's content */
};

/* A piece of the file that is no events chunk, and that a rewriting must keep. */
struct chunk_extent {
	uint64_t offset;
	uint64_t size;
};

struct chunk_index {
	VEC(struct indexed_chunk) chunks; /* by stream, then sequence, each of these once */
	VEC(struct packed_chunk) packs;   /* in the order of the file */
	VEC(struct chunk_extent)
	kept; /* chunks of unknown kinds; pages that are damaged, or stray */
	VEC(struct chunk_extent) live;     /* of the live table, in the order of the file */
	struct extra_chunk symbols, index; /* the last ones in the file */
	uint64_t file_size;                /* when the walk ended */
	uint64_t payload;                  /* committed bytes of all chunks */
	uint64_t missing;                  /* gaps in sequences */
	/*
	 * A hash of what the chunks' headers say but for where and how they are stored: equal for a
	 * recording before and after it was finished.
	 */
	uint64_t fingerprint;
	/* The pair of clock readings with the latest ticks of all chunks; 0, 0: none. */
	uint64_t latest_ticks, latest_monotonic_ns;
};

/*
 * Walks the file. A slot is copied at once and the walk goes on to where the file ends after
 * that, so that of a file being written every chunk before a slot's sequence is found.
 */
struct err *chunk_index_build(const struct byte_source *source, struct damage *damage,
			      struct chunk_index *ret);
void chunk_index_deinit(struct chunk_index *index);

/* The same of a file whose index this was: it may have grown since. As it was on failure. */
struct err *chunk_index_renew(const struct byte_source *source, struct damage *damage,
			      struct chunk_index *index);

/* Whether the trailers of all sealed chunks match. Reads the whole file. */
struct err *chunk_index_check(const struct chunk_index *index, const struct byte_source *source,
			      bool *ret);

#endif
