/*
 * The live blocks of a program, out of the regions and cells of its live table (trace/live.h).
 * Nothing that the file says is believed.
 */
#ifndef MALLOW_ANALYSIS_LIVE_LIVE_BLOCKS_H
#define MALLOW_ANALYSIS_LIVE_LIVE_BLOCKS_H

#include "analysis/chunks/chunk_index.h"
#include "hosted/files/byte_source.h"
#include "trace/live.h"

/* Where a block lies, and what its entry says. */
struct found_block {
	uint64_t address, size;
	uint64_t ticks; /* since the start */
	uint32_t site, thread;
};

/* Zeroed: none. */
struct live_blocks {
	VEC(struct found_block) list;
};

/*
 * index: of the file, renewed as that may grow meanwhile, and the damage with it. What stands in
 * ret already is kept, also when this fails.
 */
struct err *live_blocks_read(const struct byte_source *source, struct chunk_index *index,
			     struct damage *damage, struct live_blocks *ret);

#endif
