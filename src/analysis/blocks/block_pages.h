/*
 * Pages of the matching blocks, if all blocks are sorted already (block_order.h). A set of bits
 * does not tell which block is the thousandth that matches. So the matches in each step of 4,096
 * rows are counted, once for all pages.
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

/* Does not change once it is made. The bits and the order are borrowed. */
struct block_pages {
	const uint64_t *bits;  /* block_bits.h */
	const uint32_t *order; /* of recording_block_order(); NULL: the order of allocation */
	uint64_t blocks;       /* how many blocks there are */
	uint64_t *before;      /* for each step: how many match before it; NULL: all match */
};

/* Counts the matches: looks once at each block, with all processors, unless all match. */
struct err *block_pages_create(const uint64_t *bits, const uint32_t *order, uint64_t blocks,
			       struct block_pages *ret);
/* Accepts a zeroed struct. */
void block_pages_deinit(struct block_pages *pages);

struct block_cursor {
	const struct block_pages *pages;
	uint64_t at; /* the next row of the order; descending: the row behind that */
	bool descending;
};

/* Begins at the matching row of that number; descending: counted from the end. */
void block_cursor_begin(const struct block_pages *pages, uint64_t number, bool descending,
			struct block_cursor *ret);

/* The next block. There must be one. */
uint64_t block_cursor_next(struct block_cursor *cursor);

#endif
