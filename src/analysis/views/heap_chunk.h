/*
 * Where glibc's malloc keeps a block: a chunk, which begins with one word of its own. Only of
 * blocks that heap_chunk_in_main_arena() says it of.
 */
#ifndef MALLOW_ANALYSIS_VIEWS_HEAP_CHUNK_H
#define MALLOW_ANALYSIS_VIEWS_HEAP_CHUNK_H

#include <stdbool.h>

#include "analysis/recording.h"

/* Not mapped on its own, and in no thread's arena. With other allocators flags are 0: ask facts. */
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
