/*
 * Chains of blocks: a chain is a block, the block that realloc made of it, and so on. A successor
 * stands behind its predecessor in the columns. Most blocks are a chain alone.
 */
#ifndef MALLOW_ANALYSIS_FILTER_FILTER_CHAINS_H
#define MALLOW_ANALYSIS_FILTER_FILTER_CHAINS_H

#include "analysis/recording.h"

enum chain_value {
	CHAIN_FIRST_SIZE,
	CHAIN_LAST_SIZE,
	CHAIN_LENGTH,
	CHAIN_POSITION, /* how many blocks of the chain come before this one */
	CHAIN_LIFETIME, /* TIME_NEVER: its last block is leaked */
	CHAIN_FREED,    /* when its last block was freed, or TIME_NEVER */
};

/* Sets ret[0 … count - 1] to that value of each block's chain, or of the block in its chain. */
void chain_values(const struct block_columns *blocks, enum chain_value value, uint64_t *ret);

#endif
