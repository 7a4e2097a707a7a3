/*
 * One page of the matching blocks in the order of some key, if the blocks are not sorted yet. It
 * picks out the rows of that page, and sorts only these.
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_TOP_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/blocks/block_sort_key.h"
#include "hosted/err.h"

struct block_top {
	uint32_t *rows; /* sorted; NULL: not made */
	uint64_t first; /* how many rows come before these */
	uint64_t count;
};

/*
 * Makes rows first … first + wanted - 1 of the blocks that match, as far as there are so many. They
 * are in the order of recording_block_order(), or the reverse. Looks at each block once, with all
 * processors; unless first is 0, block_nth_find() looks at them, too. first is below the number of
 * blocks that match, or 0. wanted should be no more than some thousands: each piece of the work
 * takes 32 bytes for each wanted row.
 */
struct err *block_top_create(const struct block_sort_keys *entries, uint64_t first, uint64_t wanted,
			     struct block_top *ret);
/* Accepts a zeroed struct. */
void block_top_deinit(struct block_top *top);

#endif
