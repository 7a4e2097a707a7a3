#include "agent/live_blocks/cells.h"

#include <stddef.h>

#include "agent/live_blocks/live_memory.h"
#include "base/compiler.h"

#define FOUR (1u << CELLS_FOUR_LOG)

static uint32_t take_four(struct cells *cells)
{
	uint32_t last = __atomic_load_n(&cells->last, __ATOMIC_RELAXED);

	do
		if (last >= LIVE_CELLS - FOUR)
			return 0;
	while (!__atomic_compare_exchange_n(&cells->last, &last, last + FOUR, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return last + FOUR;
}

/*
 * Takes cells from the four that is being cut up, or from a new one. If several threads begin a new
 * four at once, all but one waste the rest of theirs.
 */
static uint32_t take_part(struct cells *cells, unsigned int log)
{
	uint32_t *next = &cells->next[log];
	uint32_t number = __atomic_load_n(next, __ATOMIC_RELAXED), four;

	while (number % FOUR)
		if (__atomic_compare_exchange_n(next, &number, number + (1u << log), true,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return number;
	four = take_four(cells);
	if (four)
		__atomic_compare_exchange_n(next, &number, four + (1u << log), false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return four;
}

/* Makes the chunk of the cells if need be. */
uint32_t cells_take(struct cells *cells, unsigned int log, uint64_t **words)
{
	uint32_t number = log < CELLS_FOUR_LOG ? take_part(cells, log) : take_four(cells);
	uint64_t **place = &cells->chunks[number >> CELLS_CHUNK_BITS];

	if (!number)
		return 0;
	if (unlikely(!__atomic_load_n(place, __ATOMIC_ACQUIRE)) &&
	    !live_memory_array(place, LIVE_PART_CELLS, LIVE_CELL_SIZE,
			       number & ~((1u << CELLS_CHUNK_BITS) - 1), 1u << CELLS_CHUNK_BITS))
		return 0;
	*words = cells_at(cells, number);
	return number;
}

/* Takes a free one. Its first entry holds the number of the next free one. NULL: none. */
static struct live_full *take_free(struct full_groups *groups, uint32_t *number)
{
	struct live_full *full = NULL;
	uint64_t top;

	do {
		*number = number_stack_top(&groups->free, &top);
		if (!*number)
			return NULL;
		full = full_groups_at(groups, *number);
	} while (!number_stack_pop(&groups->free, top, &full->entries[0]));
	__atomic_store_n(&full->entries[0], 0, __ATOMIC_RELAXED);
	return full;
}

void full_groups_give_back(struct full_groups *groups, uint32_t number)
{
	number_stack_push(&groups->free, number, &full_groups_at(groups, number)->entries[0]);
}

/* Makes a new one, and its chunk if need be. */
static struct live_full *make_full(struct full_groups *groups, uint32_t *number)
{
	uint32_t last = __atomic_load_n(&groups->last, __ATOMIC_RELAXED);
	struct live_full **place;

	do
		if (last == LIVE_FULLS - 1)
			return NULL;
	while (!__atomic_compare_exchange_n(&groups->last, &last, last + 1, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	*number = last + 1;
	place = &groups->chunks[*number >> FULL_GROUPS_CHUNK_BITS];
	if (unlikely(!__atomic_load_n(place, __ATOMIC_ACQUIRE)) &&
	    !live_memory_array(place, LIVE_PART_FULLS, sizeof(**place),
			       *number & ~((1u << FULL_GROUPS_CHUNK_BITS) - 1),
			       1u << FULL_GROUPS_CHUNK_BITS))
		return NULL;
	return full_groups_at(groups, *number);
}

struct live_full *full_groups_take(struct full_groups *groups, uint32_t *number)
{
	struct live_full *full = take_free(groups, number);

	return full ? full : make_full(groups, number);
}
