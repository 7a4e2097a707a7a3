/*
 * Pages of the matching blocks, where all blocks are sorted already (block_order.h). Which block is
 * the thousandth that matches, a set of bits does not tell; so the matches are counted for each
 * step of rows, once for all pages.
 *
 *	block_pages_create()     once for a set and an order
 *	block_cursor_begin()       at the first row of a page
 *	block_cursor_next()        each row of it
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_PAGES_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"

/* Read-only once it is made. What it is of is borrowed. */
struct block_pages {
	const uint64_t *bits;  /* block_bits.h */
	const uint32_t *order; /* of recording_block_order(); NULL: as they were allocated */
	uint64_t blocks;       /* all of them */
	uint64_t *before;      /* of each step of rows, how many match before it; NULL: all match */
};

/* One look at each block, by all processors, unless all match. */
struct err *block_pages_create(const uint64_t *bits, const uint32_t *order, uint64_t blocks,
			       struct block_pages *ret);
/* Accepts a zeroed struct. */
void block_pages_deinit(struct block_pages *pages);

struct block_cursor {
	const struct block_pages *pages;
	uint64_t at; /* the row of the order to look at next; descending, the one above it */
	bool descending;
};

/* From the matching row with that number on, counted from the end where it descends. */
void block_cursor_begin(const struct block_pages *pages, uint64_t number, bool descending,
			struct block_cursor *ret);

/* The next block. There must be one. */
uint64_t block_cursor_next(struct block_cursor *cursor);

#endif
