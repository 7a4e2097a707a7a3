#include "agent/live_blocks/full_groups.h"

#include <stddef.h>

#include "agent/live_blocks/live_memory.h"
#include "base/compiler.h"

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
static struct live_full *make(struct full_groups *groups, uint32_t *number)
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

	return full ? full : make(groups, number);
}
