/* Where in an order so many of the matching blocks come before, without ordering them. */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_RANK_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_RANK_H

#include "analysis/blocks/block_entry.h"
#include "hosted/err.h"

/*
 * *ret: a place that so many of them are before, and no more. At most seven looks at each block, by
 * all processors. rank: below the number of blocks that match.
 */
struct err *block_rank_find(const struct block_entries *entries, uint64_t rank,
			    struct block_entry *ret);

#endif
