/* Finds the n-th of the matching blocks in the order of some key, without sorting them. */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_NTH_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_NTH_H

#include "analysis/blocks/block_sort_key.h"
#include "hosted/err.h"

/*
 * *ret: a sort key that exactly `rank` matching blocks come before. rank: below the number of
 * blocks that match. Looks at each block at most seven times, with all processors. The only error:
 * no memory.
 */
struct err *block_nth_find(const struct block_sort_keys *entries, uint64_t rank,
			   struct block_sort_key *ret);

#endif
