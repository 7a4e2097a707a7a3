/*
 * The chunk in which glibc's malloc keeps a block: it begins with one word of malloc's own. Only
 * for blocks for which heap_chunk_in_main_arena() is true.
 */
#ifndef MALLOW_ANALYSIS_VIEWS_HEAP_CHUNK_H
#define MALLOW_ANALYSIS_VIEWS_HEAP_CHUNK_H

#include <stdbool.h>

#include "analysis/recording.h"

/*
 * Whether a block is neither mapped on its own nor in a thread's arena. Other allocators' flags are
 * 0: look at the facts first.
 */
static inline bool heap_chunk_in_main_arena(const struct block_columns *blocks, uint64_t i)
{
	return !(blocks->heap_flags[i] & (TRACE_HEAP_MMAPPED | TRACE_HEAP_NON_MAIN_ARENA));
}

static inline uint64_t heap_chunk_start(const struct block_columns *blocks, uint64_t i)
{
	return blocks->address[i] - 8;
}

static inline uint64_t heap_chunk_end(const struct block_columns *blocks, uint64_t i)
{
	return blocks->address[i] + blocks->size[i] + blocks->slack[i];
}

#endif
