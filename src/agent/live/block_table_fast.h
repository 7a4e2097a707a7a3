/*
 * block_table_put() and block_table_take() in the ordinary cases, inline: a small block of a full
 * group, or one in a chain that the thread met lately. Else they do nothing, and those are to be
 * asked.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCK_TABLE_FAST_H
#define MALLOW_AGENT_LIVE_BLOCK_TABLE_FAST_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/live/add.h"
#include "agent/live/block_table.h"
#include "agent/live/small_blocks.h"
#include "base/compiler.h"

static inline uint64_t *block_table_words(const struct block_table *table, uint32_t place)
{
	return cells_word(&table->cells, place & ((1u << CELLS_WORD_BITS) - 1));
}

/* apart: no two live blocks begin within the same 32 bytes. */
static inline __attribute__((always_inline)) bool
block_table_put_fast(const struct block_table *table, const struct block_near *near,
		     uint64_t address, const struct known_block *block, bool apart)
{
	uint32_t name = heads_near_name(&near->heads, address), place;
	uint64_t *entry =
		live_group_is_full(name) ? small_blocks_new_entry(table, name, address) : NULL;

	if (unlikely(block->size >= LIVE_LARGE_MIN))
		return false;
	if (entry)
		return likely(
			add_claim_as(apart || add_alone(), entry, block_entry(address, block)));
	// A place where a block began at the address is one for this one, if it is free.
	place = block_near_find(near, address);
	return place && !(place & BLOCK_PLACE_LARGE) &&
	       likely(add_claim(block_table_words(table, place), block_entry(address, block)));
}

static inline __attribute__((always_inline)) bool
block_table_take_fast(const struct block_table *table, const struct block_near *near,
		      uint64_t address, struct known_block *ret)
{
	uint32_t chain, place;
	uint64_t *entry =
		small_blocks_find(table, heads_near_name(&near->heads, address), address, &chain);

	if (!entry) {
		place = block_near_find(near, address);
		if (!place || place & BLOCK_PLACE_LARGE)
			return false;
		entry = block_table_words(table, place);
		if (unlikely(!block_entry_is_at(entry, address)))
			return false;
	}
	block_entry_take(entry, ret);
	return true;
}

#endif
