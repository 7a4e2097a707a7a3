/*
 * The live blocks of 1 KiB and more (trace/live.h): one cell each. The cells of a region of memory
 * are a chain. There are maps for three ranges of sizes.
 *
 * Part of block_table.h: lock-free, any thread, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_LARGE_BLOCKS_H
#define MALLOW_AGENT_LIVE_BLOCKS_LARGE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/live_blocks/block_table.h"

/* The cell of the large block at the address, or 0. */
uint32_t large_blocks_find(const struct block_table *table, uint64_t address);

/* Whether the cell still holds the block at the address. */
static inline bool large_block_is(const uint64_t *words, uint64_t address)
{
	return __atomic_load_n(&words[LIVE_WORD_STATE], __ATOMIC_ACQUIRE) >> LIVE_LARGE_SHIFT &&
	       __atomic_load_n(&words[LIVE_WORD_ADDRESS], __ATOMIC_RELAXED) == address;
}

void large_block_take(uint64_t *words, struct known_block *ret);

/* Puts a large block in; no other large one may be at the address. Returns its cell. 0: no room. */
uint32_t large_blocks_put(struct block_table *table, uint64_t address,
			  const struct known_block *block);

/*
 * Puts a block into a cell where an earlier block at that address was. false: the cell is taken, or
 * is another address's or map's by now.
 */
bool large_block_put(uint64_t *words, uint64_t address, const struct known_block *block);

/* Whether no cell of the chain holds a block. name: of the chain, without the mark of leaving. */
bool large_blocks_are_gone(const struct block_table *table, uint32_t name);

/*
 * If the chain is still leaving its region and nobody uses it: takes it out of the region and frees
 * its cells. name: with the mark of leaving. Returns how many cells were freed.
 */
uint32_t large_blocks_leave(struct block_table *table, uint32_t *head, uint32_t name);

/* Takes all large blocks out, but for those that are just being put in. */
void large_blocks_empty(const struct block_table *table);

#endif
