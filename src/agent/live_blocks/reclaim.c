#include "agent/live_blocks/reclaim.h"

#include <stddef.h>

#include "agent/live_blocks/large_blocks.h"
#include "agent/live_blocks/small_blocks.h"

/* Whether a group that is not leaving is empty, so that it may. Chains of small blocks never leave,
 * because struct block_near keeps places in them. */
static bool may_leave(const struct block_table *table, uint32_t name, unsigned int map)
{
	if (map == LIVE_MAP_SMALL)
		return live_group_is_full(name) && small_blocks_are_gone(table, name);
	return name && large_blocks_are_gone(table, name);
}

static bool mark_group(const struct block_table *table, uint32_t *head, unsigned int map)
{
	uint32_t name = __atomic_load_n(head, __ATOMIC_ACQUIRE);

	return !(name & LIVE_LEAVING) && may_leave(table, name, map) &&
	       __atomic_compare_exchange_n(head, &name,
					   (map == LIVE_MAP_SMALL ? name & ~LIVE_FULL_NAME : name) |
						   LIVE_LEAVING,
					   false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/*
 * Little of a large table is in the cache. To prefetch all at once is several times as fast as to
 * wait for one after the other.
 */
static void prefetch_groups(const struct block_table *table, const uint32_t *leaf)
{
	for (uint32_t i = 0; i < LIVE_LEAF_HEADS; i++) {
		uint32_t name = __atomic_load_n(&leaf[i], __ATOMIC_ACQUIRE);

		if (live_group_is_full(name))
			__builtin_prefetch(small_blocks_full(table, name)->entries);
	}
}

enum reclaim_found reclaim_begin(struct reclaim *reclaim, const struct block_table *table)
{
	uint32_t *leaf = heads_go_on(&table->heads, &reclaim->hand, &reclaim->map);
	bool found = false;

	if (!leaf)
		return RECLAIM_FOUND_END;
	if (reclaim->map == LIVE_MAP_SMALL)
		prefetch_groups(table, leaf);
	for (uint32_t i = 0; i < LIVE_LEAF_HEADS; i++)
		found |= mark_group(table, &leaf[i], reclaim->map);
	if (!found)
		return RECLAIM_FOUND_NONE;
	reclaim->leaf = leaf;
	return RECLAIM_FOUND_SOME;
}

/* Frees the group if it is still leaving and empty. Returns how many cells that are. */
static uint32_t free_if_empty(struct block_table *table, uint32_t *head, unsigned int map)
{
	uint32_t name = __atomic_load_n(head, __ATOMIC_ACQUIRE), freed = 0;

	if (!(name & LIVE_LEAVING))
		return 0;
	if (map != LIVE_MAP_SMALL)
		freed = large_blocks_leave(table, head, name);
	else if (small_blocks_are_gone(table, name) && small_blocks_leave(table, head, name))
		freed = RECLAIM_FULL_CELLS;
	heads_name(head, map); // removes the mark if the group was not freed
	return freed;
}

uint32_t reclaim_end(struct reclaim *reclaim, struct block_table *table)
{
	uint32_t freed = 0;

	for (uint32_t i = 0; i < LIVE_LEAF_HEADS; i++)
		freed += free_if_empty(table, &reclaim->leaf[i], reclaim->map);
	reclaim->leaf = NULL;
	return freed;
}
