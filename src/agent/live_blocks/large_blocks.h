/*
 * The live blocks of 1 KiB and more (trace/live.h): one cell each, in chains by region of memory,
 * in maps by their size.
 *
 * Part of block_table.h, and as that is.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_LARGE_BLOCKS_H
#define MALLOW_AGENT_LIVE_BLOCKS_LARGE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/live_blocks/block_table.h"

/* Its cell, or 0. */
uint32_t large_blocks_find(const struct block_table *table, uint64_t address);

/* Whether that cell, which was one of the block at the address, still is. */
static inline bool large_block_is(const uint64_t *words, uint64_t address)
{
	return __atomic_load_n(&words[LIVE_WORD_STATE], __ATOMIC_ACQUIRE) >> LIVE_LARGE_SHIFT &&
	       __atomic_load_n(&words[LIVE_WORD_ADDRESS], __ATOMIC_RELAXED) == address;
}

void large_block_take(uint64_t *words, struct known_block *ret);

/* Its cell. What is there is no large one. 0: there is no room. */
uint32_t large_blocks_put(struct block_table *table, uint64_t address,
			  const struct known_block *block);

/* The same into a cell of that address, if nobody has it and the block is of the same map. */
bool large_block_put(uint64_t *words, uint64_t address, const struct known_block *block);

/* Of the region whose cells have that name, not a leaving one: whether there are no blocks in it.
 */
bool large_blocks_are_gone(const struct block_table *table, uint32_t name);

/* The cells of that name, which nobody uses, are free if they are still leaving. Returns how many.
 */
uint32_t large_blocks_leave(struct block_table *table, uint32_t *head, uint32_t name);

/* But for what is just being put. */
void large_blocks_empty(const struct block_table *table);

#endif
