/*
 * The matching blocks in an order of all blocks, from any place among them on: which one is the
 * thousandth is not told from a set of bits, so it is counted for each so many rows of the order.
 *
 *	block_ranks_create()     once for a set and an order
 *	block_walk_begin()       at the first row of a page
 *	block_walk_next()        each row of it
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_RANKS_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"

/* Read-only once it is made. What it is of is borrowed. */
struct block_ranks {
	const uint64_t *bits;  /* block_bits.h */
	const uint32_t *order; /* of recording_block_order(); NULL: as they were allocated */
	uint64_t blocks;       /* all of them */
	uint64_t *before;      /* of each step of rows, how many match before it; NULL: all match */
};

/* One look at each block, by all processors, unless all match. */
struct err *block_ranks_create(const uint64_t *bits, const uint32_t *order, uint64_t blocks,
			       struct block_ranks *ret);
/* Accepts a zeroed struct. */
void block_ranks_deinit(struct block_ranks *ranks);

struct block_walk {
	const struct block_ranks *ranks;
	uint64_t at; /* the row of the order to look at next; descending, the one above it */
	bool descending;
};

/* From the matching row with that number on, counted from the end where it descends. */
void block_walk_begin(const struct block_ranks *ranks, uint64_t number, bool descending,
		      struct block_walk *ret);

/* The next block. There must be one. */
uint64_t block_walk_next(struct block_walk *walk);

#endif
