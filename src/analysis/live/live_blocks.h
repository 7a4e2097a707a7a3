/*
 * Reads the live blocks of a program from the regions and cells of its live table (trace/live.h).
 * Nothing in the file is trusted.
 */
#ifndef MALLOW_ANALYSIS_LIVE_LIVE_BLOCKS_H
#define MALLOW_ANALYSIS_LIVE_LIVE_BLOCKS_H

#include "analysis/chunks/chunk_index.h"
#include "hosted/files/byte_source.h"
#include "hosted/files/spill.h"
#include "trace/live.h"

/* A block, as its entry says. */
struct found_block {
	uint64_t address, size;
	uint64_t ticks; /* since the start */
	uint32_t site, thread;
};

/* Zeroed: none. */
struct live_blocks {
	struct found_block *list;
	size_t count;
	struct spill memory; /* of the list */
};

void live_blocks_deinit(struct live_blocks *blocks);

/*
 * Appends the blocks to ret, also some of them if this fails. index: the file's. It is built again
 * because the file may grow meanwhile, and damage with it.
 */
struct err *live_blocks_read(const struct byte_source *source, struct chunk_index *index,
			     struct damage *damage, struct live_blocks *ret);

#endif
