#include "agent/live/block_table.h"

#include <stddef.h>

#include "agent/live/large_blocks.h"
#include "agent/live/small_blocks.h"
#include "base/compiler.h"

static uint64_t *words_of(const struct block_table *table, uint32_t place)
{
	return cells_word(&table->cells, place & ((1u << CELLS_WORD_BITS) - 1));
}

static void take_small(uint64_t *entry, struct known_block *ret)
{
	block_from_entry(ret, __atomic_load_n(entry, __ATOMIC_RELAXED));
	__atomic_store_n(entry, 0, __ATOMIC_RELAXED);
}

static bool take_at(const struct block_table *table, uint32_t place, struct known_block *ret)
{
	if (!place)
		return false;
	if (place & BLOCK_PLACE_LARGE)
		large_block_take(words_of(table, place), ret);
	else
		take_small(words_of(table, place), ret);
	return true;
}

static uint32_t large_place(uint32_t cell)
{
	return cell ? cells_word_number(cell, 0) | BLOCK_PLACE_LARGE : 0;
}

/* The place of the block that begins there, which as a small one may be in that chain. */
static uint32_t search(const struct block_table *table, uint64_t address, uint32_t chain)
{
	uint32_t place = chain ? small_blocks_find_in(table, chain, address) : 0;

	return place ? place : large_place(large_blocks_find(table, address));
}

static bool is_at(const struct block_table *table, uint32_t place, uint64_t address)
{
	const uint64_t *words = place ? words_of(table, place) : NULL;

	if (!place)
		return false;
	return place & BLOCK_PLACE_LARGE ? large_block_is(words, address)
					 : (__atomic_load_n(words, __ATOMIC_RELAXED) &
					    BLOCK_START_MASK) == block_start(address);
}

/* chain: as of search(). */
static bool take_slow(const struct block_table *table, struct block_near *near, uint64_t address,
		      uint32_t chain, struct known_block *ret)
{
	uint32_t place = block_near_find(near, address);

	if (!is_at(table, place, address)) {
		place = search(table, address, chain);
		if (place)
			block_near_note(near, address, place);
	}
	return take_at(table, place, ret);
}

bool block_table_take(const struct block_table *table, struct block_near *near, uint64_t address,
		      struct known_block *ret)
{
	uint64_t *entry;
	uint32_t chain;

	if (unlikely(address & 7))
		return false;
	entry = small_blocks_find(table, address, &chain);
	if (unlikely(!entry))
		return take_slow(table, near, address, chain, ret);
	take_small(entry, ret);
	return true;
}

/* A place where a block began at the address before is one for this one, if it is free. */
static bool put_near(const struct block_table *table, uint32_t place, uint64_t address,
		     const struct known_block *block)
{
	bool large = block->size >= LIVE_LARGE_MIN;

	if (!place || large != !!(place & BLOCK_PLACE_LARGE))
		return false;
	return large ? large_block_put(words_of(table, place), address, block)
		     : add_claim(words_of(table, place), block_entry(address, block));
}

/* *place: where it is now, if that is worth noting. */
static bool put_anew(struct block_table *table, uint64_t address, const struct known_block *block,
		     struct known_block *stale, uint32_t *place)
{
	uint64_t *entry;
	uint32_t chain;

	if (block->size < LIVE_LARGE_MIN)
		return small_blocks_put(table, address, block_entry(address, block), stale, place);
	// What is still there may be of any size.
	entry = small_blocks_find(table, address, &chain);
	if (entry)
		take_small(entry, stale);
	else
		take_at(table, search(table, address, chain), stale);
	*place = large_place(large_blocks_put(table, address, block));
	return *place != 0;
}

static bool put_slow(struct block_table *table, struct block_near *near, uint64_t address,
		     const struct known_block *block, struct known_block *stale)
{
	uint32_t place = block_near_find(near, address);

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
	if (unlikely(address & 7))
		return false;
	return (likely(block->size < LIVE_LARGE_MIN) &&
		likely(small_blocks_put_full(table, address, block_entry(address, block)))) ||
	       put_slow(table, near, address, block, stale);
}

/* Of an entry or a state. */
static bool change(uint64_t *word, unsigned int shift, uint32_t from, uint32_t to)
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
	uint32_t chain = 0, place;
	uint64_t *entry = address & 7 ? NULL : small_blocks_find(table, address, &chain);

	if (entry)
		return change(entry, LIVE_OWNER_SHIFT, from, to);
	place = address & 7 ? 0 : search(table, address, chain);
	if (!place)
		return false;
	return place & BLOCK_PLACE_LARGE
		       ? change(words_of(table, place) + LIVE_WORD_STATE, LIVE_LARGE_SHIFT, from,
				to)
		       : change(words_of(table, place), LIVE_OWNER_SHIFT, from, to);
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
