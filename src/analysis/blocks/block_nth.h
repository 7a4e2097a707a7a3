/* The n-th of the matching blocks by some key, without sorting them. */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_NTH_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_NTH_H

#include "analysis/blocks/block_sort_key.h"
#include "hosted/err.h"

/*
 * *ret: a place that so many of them are before, and no more. At most seven looks at each block, by
 * all processors. rank: below the number of blocks that match.
 */
struct err *block_nth_find(const struct block_sort_keys *entries, uint64_t rank,
			   struct block_sort_key *ret);

#endif
