#include "agent/live/large_blocks.h"

#include <stddef.h>

#include "base/compiler.h"

/* Of a cell whose address and size are not there yet. */
#define STATE_BUSY UINT64_C(1)

static uint32_t find_in_map(const struct block_table *table, unsigned int map, uint64_t address)
{
	const uint32_t *head = heads_find(&table->heads, map, address);
	uint32_t name = head ? __atomic_load_n(head, __ATOMIC_ACQUIRE) : 0;

	while (name) {
		const uint64_t *words = block_table_group(table, name);

		if (large_block_is(words, address))
			break;
		name = (uint32_t)words[0];
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

static void fill(uint64_t *words, uint64_t address, const struct known_block *block)
{
	__atomic_store_n(&words[LIVE_WORD_ADDRESS], address, __ATOMIC_RELAXED);
	__atomic_store_n(&words[LIVE_WORD_SIZE], block->size, __ATOMIC_RELAXED);
	__atomic_store_n(&words[LIVE_WORD_STATE],
			 (uint64_t)block->owner << LIVE_LARGE_SHIFT | block->time,
			 __ATOMIC_RELEASE);
}

static bool claim(uint64_t *words)
{
	uint64_t none = 0;

	return __atomic_compare_exchange_n(&words[LIVE_WORD_STATE], &none, STATE_BUSY, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

bool large_block_put(uint64_t *words, uint64_t address, const struct known_block *block)
{
	unsigned int map = live_map_of(__atomic_load_n(&words[LIVE_WORD_SIZE], __ATOMIC_RELAXED));

	// The cell is of the region of what was in it last.
	if (__atomic_load_n(&words[LIVE_WORD_ADDRESS], __ATOMIC_RELAXED) != address ||
	    map != live_map_of(block->size) || !claim(words))
		return false;
	fill(words, address, block);
	return true;
}

/* A cell of the region's that nobody has. 0: there is none. */
static uint32_t claim_in(const struct block_table *table, const uint32_t *head)
{
	uint32_t name = __atomic_load_n(head, __ATOMIC_ACQUIRE);

	while (name) {
		uint64_t *words = block_table_group(table, name);

		if (claim(words))
			break;
		name = (uint32_t)words[0];
	}
	return live_group_number(name);
}

/* Puts a cell that was filled in front of a region's. */
static void push(uint32_t *head, uint32_t name, uint64_t *words)
{
	uint32_t first = __atomic_load_n(head, __ATOMIC_RELAXED);

	do
		words[0] = first;
	while (!__atomic_compare_exchange_n(head, &first, name, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
}

uint32_t large_blocks_put(struct block_table *table, uint64_t address,
			  const struct known_block *block)
{
	uint32_t *head = heads_reach(&table->heads, live_map_of(block->size), address);
	uint32_t cell = head ? claim_in(table, head) : 0;
	uint64_t *words;

	if (cell) {
		fill(cells_at(&table->cells, cell), address, block);
		return cell;
	}
	cell = head ? cells_take(&table->cells, 0, &words) : 0;
	if (!cell)
		return 0;
	fill(words, address, block);
	push(head, live_group_name(cell, 0), words);
	return cell;
}

static void empty_region(const void *argument, uint32_t *head)
{
	const struct block_table *table = argument;
	uint32_t name = __atomic_load_n(head, __ATOMIC_ACQUIRE);

	while (name) {
		uint64_t *words = block_table_group(table, name);
		uint64_t state = __atomic_load_n(&words[LIVE_WORD_STATE], __ATOMIC_RELAXED);

		if (state != STATE_BUSY)
			__atomic_compare_exchange_n(&words[LIVE_WORD_STATE], &state, 0, false,
						    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
		name = (uint32_t)words[0];
	}
}

void large_blocks_empty(const struct block_table *table)
{
	for (unsigned int map = LIVE_MAP_SMALL + 1; map < LIVE_MAPS; map++)
		heads_each(&table->heads, map, empty_region, table);
}
