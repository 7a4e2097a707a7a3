/*
 * One page of the matching blocks by some key, where the blocks are not sorted yet: it chooses the
 * rows of that page and sorts them alone.
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_TOP_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/blocks/block_sort_key.h"
#include "hosted/err.h"

struct block_top {
	uint32_t *rows; /* in their order; NULL: not made */
	uint64_t first; /* how many come before these */
	uint64_t count;
};

/*
 * Rows first … first + wanted - 1 of those that match, as far as there are so many, as
 * recording_block_order() orders them, or as that is reversed. One look at each block, by all
 * processors, and block_nth_find()'s unless they are the first. first is below the number of
 * blocks that match, or 0; wanted some thousands: that costs 32 bytes each for every piece of the
 * work.
 */
struct err *block_top_create(const struct block_sort_keys *entries, uint64_t first, uint64_t wanted,
			     struct block_top *ret);
/* Accepts a zeroed struct. */
void block_top_deinit(struct block_top *top);

#endif
