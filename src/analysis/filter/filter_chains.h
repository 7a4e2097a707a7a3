/*
 * Blocks followed through realloc: a chain is a block and its successors, which are behind it in
 * the columns. Most blocks are chains of their own.
 */
#ifndef MALLOW_ANALYSIS_FILTER_FILTER_CHAINS_H
#define MALLOW_ANALYSIS_FILTER_FILTER_CHAINS_H

#include "analysis/recording.h"

enum chain_value {
	CHAIN_FIRST_SIZE,
	CHAIN_LAST_SIZE,
	CHAIN_LENGTH,
	CHAIN_POSITION, /* blocks before this one */
	CHAIN_LIFETIME, /* TIME_NEVER: its last block is leaked */
	CHAIN_FREED,    /* when its last block was, or TIME_NEVER */
};

/* That value of the chain of each block, or of the block in it, into ret[0 … count - 1]. */
void chain_values(const struct block_columns *blocks, enum chain_value value, uint64_t *ret);

#endif
