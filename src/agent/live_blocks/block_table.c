#include "agent/live_blocks/block_table.h"

#include <stddef.h>

#include "agent/live_blocks/block_table_fast.h"
#include "agent/live_blocks/large_blocks.h"
#include "agent/live_blocks/small_blocks.h"
#include "base/compiler.h"

static bool take_at(const struct block_table *table, uint32_t place, struct known_block *ret)
{
	if (!place)
		return false;
	if (place & BLOCK_PLACE_LARGE)
		large_block_take(block_table_words(table, place), ret);
	else
		block_entry_take(block_table_words(table, place), ret);
	return true;
}

static uint32_t large_place(uint32_t cell)
{
	return cell ? cells_word_number(cell, 0) | BLOCK_PLACE_LARGE : 0;
}

/* As small_blocks_find(), by the address alone. */
static uint64_t *find_in_full(const struct block_table *table, uint64_t address, uint32_t *chain)
{
	uint32_t *head = heads_find(&table->heads, LIVE_MAP_SMALL, address);

	return small_blocks_find(table, heads_name(head, LIVE_MAP_SMALL), address, chain);
}

/* The place of the block at the address: in that chain if it is small. */
static uint32_t search_place(const struct block_table *table, uint64_t address, uint32_t chain)
{
	uint32_t place = chain ? small_blocks_find_in(table, chain, address) : 0;

	return place ? place : large_place(large_blocks_find(table, address));
}

static bool is_at(const struct block_table *table, uint32_t place, uint64_t address)
{
	const uint64_t *words = place ? block_table_words(table, place) : NULL;

	if (!place)
		return false;
	return place & BLOCK_PLACE_LARGE ? large_block_is(words, address)
					 : block_entry_is_at(words, address);
}

static bool take_anew(const struct block_table *table, uint64_t address, struct known_block *ret,
		      uint32_t *place)
{
	uint32_t chain;
	uint64_t *entry = find_in_full(table, address, &chain);

	*place = 0;
	if (entry) {
		block_entry_take(entry, ret);
		return true;
	}
	*place = search_place(table, address, chain);
	return take_at(table, *place, ret);
}

static never_inline bool take_slow(const struct block_table *table, struct block_near *near,
				   uint64_t address, struct known_block *ret)
{
	uint32_t place = block_near_find(near, address);
	bool taken;

	heads_near_move(&near->heads, &table->heads, address);
	if (is_at(table, place, address))
		return take_at(table, place, ret);
	taken = take_anew(table, address, ret, &place);
	if (place)
		block_near_note(near, address, place);
	return taken;
}

bool block_table_take(const struct block_table *table, struct block_near *near, uint64_t address,
		      struct known_block *ret)
{
	return block_table_take_fast(table, near, address, ret) ||
	       take_slow(table, near, address, ret);
}

/* Puts the block at a place where an earlier block at its address was, if that is free. */
static bool put_near(const struct block_table *table, uint32_t place, uint64_t address,
		     const struct known_block *block)
{
	bool large = block->size >= LIVE_LARGE_MIN;

	if (!place || large != !!(place & BLOCK_PLACE_LARGE))
		return false;
	return large ? large_block_put(block_table_words(table, place), address, block)
		     : atomic_add_claim(block_table_words(table, place),
					block_entry(address, block));
}

/* *place: where the block is now; 0: not worth noting. */
static bool put_anew(struct block_table *table, uint64_t address, const struct known_block *block,
		     struct known_block *stale, uint32_t *place)
{
	if (block->size < LIVE_LARGE_MIN)
		return small_blocks_put(table, address, block_entry(address, block), stale, place);
	// A block that is still there may be of any size.
	take_anew(table, address, stale, place);
	*place = large_place(large_blocks_put(table, address, block));
	return *place != 0;
}

static bool put_slow(struct block_table *table, struct block_near *near, uint64_t address,
		     const struct known_block *block, struct known_block *stale)
{
	uint32_t place = block_near_find(near, address);

	heads_near_move(&near->heads, &table->heads, address);
	if (put_near(table, place, address, block))
		return true;
	if (!put_anew(table, address, block, stale, &place))
		return false;
	if (place)
		block_near_note(near, address, place);
	return true;
}

bool block_table_put(struct block_table *table, struct block_near *near, uint64_t address,
		     const struct known_block *block, struct known_block *stale)
{
	stale->owner = 0;
	return block_table_put_fast(table, near, heads_near_find(&near->heads, address), address,
				    block, false) ||
	       put_slow(table, near, address, block, stale);
}

/* Changes the owner in an entry or a state. */
static bool change_owner(uint64_t *word, unsigned int shift, uint32_t from, uint32_t to)
{
	uint64_t before = __atomic_load_n(word, __ATOMIC_RELAXED);

	return before >> shift == from &&
	       __atomic_compare_exchange_n(word, &before,
					   (uint64_t)to << shift |
						   (before & ((UINT64_C(1) << shift) - 1)),
					   false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

bool block_table_change_owner(const struct block_table *table, uint64_t address, uint32_t from,
			      uint32_t to)
{
	uint32_t chain, place;
	uint64_t *entry = find_in_full(table, address, &chain);

	if (entry)
		return change_owner(entry, LIVE_OWNER_SHIFT, from, to);
	place = search_place(table, address, chain);
	if (!place)
		return false;
	return place & BLOCK_PLACE_LARGE
		       ? change_owner(block_table_words(table, place) + LIVE_WORD_STATE,
				      LIVE_LARGE_SHIFT, from, to)
		       : change_owner(block_table_words(table, place), LIVE_OWNER_SHIFT, from, to);
}

void block_table_empty(const struct block_table *table)
{
	small_blocks_empty(table);
	large_blocks_empty(table);
}

void block_table_release(struct block_table *table)
{
	heads_release(&table->heads);
}
