/*
 * The first of the matching blocks by size or address: for who wants a page, where no order of all
 * blocks is there yet. One look at each block, by all processors.
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_TOP_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"

struct block_top {
	uint32_t *rows; /* in their order; NULL: not made */
	uint64_t count;
};

/*
 * The first `wanted` of the rows 0 … blocks - 1 that are among bits (block_bits.h), or all there
 * are, by their keys as recording_block_order() orders them, or as that is reversed. blocks is
 * below 2^32, wanted some thousands: memory is 32 bytes for each, times pieces of the work.
 */
struct err *block_top_create(const uint64_t *bits, const uint64_t *keys, uint64_t blocks,
			     bool descending, uint64_t wanted, struct block_top *ret);
/* Accepts a zeroed struct. */
void block_top_deinit(struct block_top *top);

#endif
