/*
 * Finds the chunks of each stream and puts them in the order in which they are read. If a slot and
 * a sealed copy of it are both there, it chooses one. Holes are skipped; gaps and damage are
 * counted.
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

/* An events chunk, which is in the file by itself or inside a packed chunk. */
struct indexed_chunk {
	uint64_t offset; /* of the chunk, or of the packed chunk that it is in */
	struct trace_chunk header;
	/* A slot's committed payload, owned. NULL: nothing is committed, or the chunk is sealed. */
	uint8_t *copy;
	uint32_t pack;    /* index into packs; CHUNK_UNPACKED: by itself */
	uint32_t pack_at; /* where its payload begins in the packed chunk's content */
};

/* A piece of the file. In `kept`: no events chunk, but to be kept when the file is rewritten. */
struct chunk_extent {
	uint64_t offset;
	uint64_t size;
};

struct chunk_index {
	VEC(struct indexed_chunk) chunks; /* by stream, then sequence; each sequence once */
	VEC(struct packed_chunk) packs;   /* in the order of the file */
	/* Chunks of unknown kinds; damaged and stray pages. */
	VEC(struct chunk_extent) kept;
	VEC(struct chunk_extent) live; /* chunks of the live table, in the order of the file */
	struct extra_chunk symbols, index, curve, unseen; /* the last of each in the file */
	uint64_t file_size;                               /* at the end of the walk */
	uint64_t finished_size; /* when it was finished; 0: it is not, or does not say */
	uint64_t stray_end;     /* where the last page ends that belongs to no chunk */
	uint64_t payload;       /* committed bytes of all chunks */
	uint64_t missing;       /* missing sequence numbers */
	uint32_t streams;       /* how many there are */
	/*
	 * A hash of the chunks' headers, without where and how chunks are stored. So a recording
	 * has the same one before and after it is finished.
	 */
	uint64_t fingerprint;
	/* The latest pair of clock readings of all chunks. 0, 0: there is none. */
	uint64_t latest_ticks, latest_monotonic_ns;
};

/*
 * Walks through the file. A slot is copied when it is met, and the walk goes on to the end that the
 * file has after that. So in a file that is being written, all chunks of a stream before a slot's
 * are found.
 */
struct err *chunk_index_build(const struct byte_source *source, struct damage *damage,
			      struct chunk_index *ret);
void chunk_index_deinit(struct chunk_index *index);

/* Builds the index again, because the file may have grown. On failure the index stays as it was. */
struct err *chunk_index_renew(const struct byte_source *source, struct damage *damage,
			      struct chunk_index *index);

/* *ret: whether the checksums of all sealed chunks are right. Reads the whole file. */
struct err *chunk_index_check(const struct chunk_index *index, const struct byte_source *source,
			      bool *ret);

#endif
