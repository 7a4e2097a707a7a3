#include "agent/live_blocks/large_blocks.h"

#include <stddef.h>

#include "base/compiler.h"

/* The state of a claimed cell: its address and size are not valid yet, or it is in no region. */
#define STATE_BUSY UINT64_C(1)

static uint32_t find_in_map(const struct block_table *table, unsigned int map, uint64_t address)
{
	uint32_t name = heads_name(heads_find(&table->heads, map, address), map);

	while (name) {
		const uint64_t *words = block_table_group(table, name);

		if (large_block_is(words, address))
			break;
		name = cells_next(words);
	}
	return live_group_number(name);
}

uint32_t large_blocks_find(const struct block_table *table, uint64_t address)
{
	uint32_t cell = 0;

	for (unsigned int map = LIVE_MAP_SMALL + 1; !cell && map < LIVE_MAPS; map++)
		cell = find_in_map(table, map, address);
	return cell;
}

void large_block_take(uint64_t *words, struct known_block *ret)
{
	uint64_t state = __atomic_load_n(&words[LIVE_WORD_STATE], __ATOMIC_RELAXED);

	ret->owner = (uint32_t)(state >> LIVE_LARGE_SHIFT);
	ret->time = (uint32_t)state;
	ret->size = __atomic_load_n(&words[LIVE_WORD_SIZE], __ATOMIC_RELAXED);
	__atomic_store_n(&words[LIVE_WORD_STATE], 0, __ATOMIC_RELEASE);
}

static void fill_cell(uint64_t *words, uint64_t address, const struct known_block *block)
{
	__atomic_store_n(&words[LIVE_WORD_ADDRESS], address, __ATOMIC_RELAXED);
	__atomic_store_n(&words[LIVE_WORD_SIZE], block->size, __ATOMIC_RELAXED);
	__atomic_store_n(&words[LIVE_WORD_STATE],
			 (uint64_t)block->owner << LIVE_LARGE_SHIFT | block->time,
			 __ATOMIC_RELEASE);
}

static bool claim_cell(uint64_t *words)
{
	uint64_t none = 0;

	return __atomic_compare_exchange_n(&words[LIVE_WORD_STATE], &none, STATE_BUSY, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void unclaim_cell(uint64_t *words)
{
	__atomic_store_n(&words[LIVE_WORD_STATE], 0, __ATOMIC_RELEASE);
}

/* Whether the cell is in the block's region. It is in that of the block that it held last. */
static bool is_for(const uint64_t *words, uint64_t address, const struct known_block *block)
{
	return __atomic_load_n(&words[LIVE_WORD_ADDRESS], __ATOMIC_RELAXED) == address &&
	       live_map_of(__atomic_load_n(&words[LIVE_WORD_SIZE], __ATOMIC_RELAXED)) ==
		       live_map_of(block->size);
}

bool large_block_put(uint64_t *words, uint64_t address, const struct known_block *block)
{
	if (!is_for(words, address, block) || !claim_cell(words))
		return false;
	// Before the claim the cell may have become another region's.
	if (unlikely(!is_for(words, address, block))) {
		unclaim_cell(words);
		return false;
	}
	fill_cell(words, address, block);
	return true;
}

/* Claims a free cell of the region. 0: there is none. */
static uint32_t claim_in(const struct block_table *table, uint32_t *head, unsigned int map)
{
	uint32_t name = heads_name(head, map);

	while (name) {
		uint64_t *words = block_table_group(table, name);

		if (claim_cell(words))
			break;
		name = cells_next(words);
	}
	return live_group_number(name);
}

/* Puts a filled cell in front of the region's chain. */
static void push_cell(uint32_t *head, unsigned int map, uint32_t name, uint64_t *words)
{
	uint32_t first;

	do {
		first = heads_name(head, map);
		__atomic_store_n(&words[0], first, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(head, &first, name, true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

/* Takes a cell that is in no region. 0: there is none left. */
static uint32_t take_cell(struct block_table *table, uint64_t **words)
{
	uint32_t cell;
	uint64_t top;

	do {
		cell = number_stack_top(&table->free_cells, &top);
		if (!cell)
			return cells_take(&table->cells, 0, words);
		*words = cells_at(&table->cells, cell);
	} while (!number_stack_pop(&table->free_cells, top, &(*words)[0]));
	return cell;
}

uint32_t large_blocks_put(struct block_table *table, uint64_t address,
			  const struct known_block *block)
{
	unsigned int map = live_map_of(block->size);
	uint32_t *head = heads_reach(&table->heads, map, address);
	uint32_t cell = head ? claim_in(table, head, map) : 0;
	uint64_t *words;

	if (cell) {
		fill_cell(cells_at(&table->cells, cell), address, block);
		return cell;
	}
	cell = head ? take_cell(table, &words) : 0;
	if (!cell)
		return 0;
	fill_cell(words, address, block);
	push_cell(head, map, live_group_name(cell, 0), words);
	return cell;
}

bool large_blocks_are_gone(const struct block_table *table, uint32_t name)
{
	while (name) {
		const uint64_t *words = block_table_group(table, name);

		if (__atomic_load_n(&words[LIVE_WORD_STATE], __ATOMIC_RELAXED))
			return false;
		name = cells_next(words);
	}
	return true;
}

static void unclaim_until(const struct block_table *table, uint32_t name, uint32_t end)
{
	while (name != end) {
		uint64_t *words = block_table_group(table, name);

		unclaim_cell(words);
		name = cells_next(words);
	}
}

static bool claim_chain(const struct block_table *table, uint32_t chain)
{
	for (uint32_t name = chain; name;) {
		uint64_t *words = block_table_group(table, name);

		if (!claim_cell(words)) {
			unclaim_until(table, chain, name);
			return false;
		}
		name = cells_next(words);
	}
	return true;
}

/* All cells are claimed first: a thread that met one of them lately does not ask the head. */
uint32_t large_blocks_leave(struct block_table *table, uint32_t *head, uint32_t name)
{
	uint32_t chain = live_group_staying(name, LIVE_MAP_SMALL + 1), freed = 0;

	if (!claim_chain(table, chain))
		return 0;
	if (!__atomic_compare_exchange_n(head, &name, 0, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED)) {
		unclaim_until(table, chain, 0);
		return 0;
	}
	for (; chain; freed++) {
		uint32_t cell = live_group_number(chain);
		uint64_t *words = cells_at(&table->cells, cell);

		chain = cells_next(words);
		number_stack_push(&table->free_cells, cell, &words[0]);
	}
	return freed;
}

struct emptying {
	const struct block_table *table;
	unsigned int map;
};

static void empty_region(const void *argument, uint32_t *head)
{
	const struct emptying *emptying = argument;
	const struct block_table *table = emptying->table;
	uint32_t name = heads_name(head, emptying->map);

	while (name) {
		uint64_t *words = block_table_group(table, name);
		uint64_t state = __atomic_load_n(&words[LIVE_WORD_STATE], __ATOMIC_RELAXED);

		if (state != STATE_BUSY)
			__atomic_compare_exchange_n(&words[LIVE_WORD_STATE], &state, 0, false,
						    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
		name = cells_next(words);
	}
}

void large_blocks_empty(const struct block_table *table)
{
	for (unsigned int map = LIVE_MAP_SMALL + 1; map < LIVE_MAPS; map++)
		heads_each(&table->heads, map, empty_region, &(const struct emptying){table, map});
}
