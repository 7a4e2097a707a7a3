/*
 * The ordinary cases of block_table_put() and block_table_take(), inline: a small block in its own
 * entry of a full or wide group, or in a chain at a place that the thread met lately. In other
 * cases they return false and change nothing; then ask the general functions.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_BLOCK_TABLE_FAST_H
#define MALLOW_AGENT_LIVE_BLOCKS_BLOCK_TABLE_FAST_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/arch/atomic_add.h"
#include "agent/live_blocks/block_table.h"
#include "agent/live_blocks/small_blocks.h"
#include "base/compiler.h"

static inline uint64_t *block_table_words(const struct block_table *table, uint32_t place)
{
	return cells_word(&table->cells, place & ((1u << CELLS_WORD_BITS) - 1));
}

/*
 * Prefetches what will be read first when a block is put at the address, since it is mostly not in
 * the cache. The result is for block_table_expect_group(), a while later.
 */
static inline const uint32_t *block_table_expect(const struct block_table *table,
						 const struct block_near *near, uint64_t address,
						 uint64_t size)
{
	const uint32_t *head = size < LIVE_LARGE_MIN
				       ? heads_near_find(&near->heads, address)
				       : heads_find(&table->heads, live_map_of(size), address);

	__builtin_prefetch(head);
	return head;
}

static inline void block_table_expect_group(const struct block_table *table, const uint32_t *head,
					    uint64_t address)
{
	uint32_t name = heads_name_fast(head);

	if (live_group_is_full(name))
		__builtin_prefetch(
			&small_blocks_full(table, name)->entries[small_blocks_full_index(address)],
			1);
	else if (name && live_group_is_chain(name)) {
		uint64_t *words = block_table_group(table, name);

		__builtin_prefetch(words, 1);
		if (small_blocks_is_wide(name))
			__builtin_prefetch(&words[small_blocks_wide_index(name, address)], 1);
	}
}

/*
 * Claims an entry. apart: no two live blocks begin within the same 32 bytes, so nobody else claims
 * this entry, not even a signal handler.
 */
static inline bool block_table_claim(uint64_t *entry, uint64_t value, bool apart)
{
	if (unlikely(!apart))
		return atomic_add_claim(entry, value);
	if (unlikely(__atomic_load_n(entry, __ATOMIC_RELAXED)))
		return false;
	__atomic_store_n(entry, value, __ATOMIC_RELAXED);
	return true;
}

/* head: as heads_near_find() or block_table_expect() found it. */
static inline __attribute__((always_inline)) bool
block_table_put_fast(const struct block_table *table, const struct block_near *near,
		     const uint32_t *head, uint64_t address, const struct known_block *block,
		     bool apart)
{
	uint64_t *entry;
	uint32_t name, place;

	if (unlikely(block->size >= LIVE_LARGE_MIN))
		return false;
	name = heads_name_fast(head);
	entry = small_blocks_new_entry(table, name, address);
	if (entry)
		return likely(block_table_claim(entry, block_entry(address, block),
						apart && live_group_is_full(name)));
	// The place of an earlier block at this address is good for this one, if it is free.
	place = block_near_find(near, address);
	return place && !(place & BLOCK_PLACE_LARGE) &&
	       likely(atomic_add_claim(block_table_words(table, place),
				       block_entry(address, block)));
}

static inline __attribute__((always_inline)) bool
block_table_take_fast(const struct block_table *table, const struct block_near *near,
		      uint64_t address, struct known_block *ret)
{
	uint32_t chain, place;
	const uint32_t *head = heads_near_find(&near->heads, address);
	uint64_t *entry = small_blocks_find(table, heads_name_fast(head), address, &chain);

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
