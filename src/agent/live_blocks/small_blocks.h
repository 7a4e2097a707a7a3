/*
 * The live blocks of less than 1 KiB, by the region of memory in which they begin (trace/live.h):
 *
 *   head ──► group of 3 entries                                      searched
 *   head ──► wide group, 7 or 15 entries by address ──► group before it ──► …
 *   head ──► full group, an entry for each 32 bytes ──► such a chain, if need be
 *
 * To search a group mostly costs a cache miss. So in a wide group each piece of 128 or 64 bytes of
 * the region has an entry of its own, which is looked at first. (The first two pieces share one,
 * because the header takes a word.) A region gets a full group where many blocks are to be
 * expected: if its first blocks are small, or if there are many in the region before it.
 *
 * Part of block_table.h: lock-free, any thread, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_SMALL_BLOCKS_H
#define MALLOW_AGENT_LIVE_BLOCKS_SMALL_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/arch/atomic_add.h"
#include "agent/live_blocks/block_table.h"
#include "base/compiler.h"

/* Addresses are multiples of 8. Entries are those of block_entry(), and atomic. */

/* In a wide group's header: a bit for each of its words begins here. Readers ignore them. */
#define SMALL_BLOCKS_ELSEWHERE 32

static inline uint32_t small_blocks_full_index(uint64_t address)
{
	return address >> LIVE_FULL_BITS & (LIVE_FULL_ENTRIES - 1);
}

static inline struct live_full *small_blocks_full(const struct block_table *table, uint32_t name)
{
	return full_groups_at(&table->fulls, live_group_number(name));
}

/* Whether the name is that of a wide group: 2 or 4 cells, the first group of a chain. */
static inline bool small_blocks_is_wide(uint32_t name)
{
	return (name >> LIVE_CELL_BITS) - 1 < 2;
}

/* Index of the block's own entry in a wide group, by its address or its offset in the region. */
static inline uint32_t small_blocks_wide_index(uint32_t name, uint64_t address)
{
	uint32_t words = LIVE_CELL_WORDS * live_group_cells(name);
	uint32_t index = (uint32_t)(address & 1023) * words >> 10;

	return index + !index; // the first one is the header
}

/* The bit of that entry in the header: a block of the entry was put elsewhere in the chain. */
static inline uint64_t small_blocks_elsewhere(uint32_t index)
{
	return UINT64_C(1) << (SMALL_BLOCKS_ELSEWHERE + index);
}

/*
 * The entry for a new block in its region's full or wide group, which has that name. NULL: there is
 * none, or an old block may still be elsewhere in the chain because its end was not seen.
 */
static inline uint64_t *small_blocks_new_entry(const struct block_table *table, uint32_t name,
					       uint64_t address)
{
	struct live_full *full;
	uint64_t *words;
	uint32_t index;

	if (live_group_is_full(name)) {
		full = small_blocks_full(table, name);
		index = small_blocks_full_index(address);
		if (name & LIVE_FULL_CHAIN &&
		    __atomic_load_n(&full->chained, __ATOMIC_RELAXED) >> index & 1)
			return NULL;
		return &full->entries[index];
	}
	if (!small_blocks_is_wide(name))
		return NULL;
	words = block_table_group(table, name);
	index = small_blocks_wide_index(name, address);
	if (__atomic_load_n(&words[0], __ATOMIC_RELAXED) & small_blocks_elsewhere(index))
		return NULL;
	return &words[index];
}

/*
 * The entry of the block in its region's full or wide group, which has that name. NULL: it is not
 * there; *chain is where else it may be, for small_blocks_find_in(), 0: nowhere.
 */
static inline uint64_t *small_blocks_find(const struct block_table *table, uint32_t name,
					  uint64_t address, uint32_t *chain)
{
	uint64_t *entry;

	*chain = name;
	if (live_group_is_full(name))
		entry = &small_blocks_full(table, name)->entries[small_blocks_full_index(address)];
	else if (small_blocks_is_wide(name))
		entry = &block_table_group(table, name)[small_blocks_wide_index(name, address)];
	else
		return NULL;
	if (likely(block_entry_is_at(entry, address)))
		return entry;
	if (live_group_is_full(name) && !(name & LIVE_FULL_CHAIN))
		*chain = 0;
	return NULL;
}

/* The number of the block's word (cells_word()), or 0. */
uint32_t small_blocks_find_in(const struct block_table *table, uint32_t chain, uint64_t address);

/*
 * Puts a block in. false: no room. *word: the number of its word if it is in a chain and worth
 * noting, else 0. *stale is set if a small block was still at the address.
 */
bool small_blocks_put(struct block_table *table, uint64_t address, uint64_t entry,
		      struct known_block *stale, uint32_t *word);

/* Whether the full group of that name holds no block. The name may have the mark of leaving. */
bool small_blocks_are_gone(const struct block_table *table, uint32_t name);

/* Frees the full group if it is still leaving its region. Only if nobody uses it. */
bool small_blocks_leave(struct block_table *table, uint32_t *head, uint32_t name);

void small_blocks_empty(const struct block_table *table);

#endif
