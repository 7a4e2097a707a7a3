/*
 * Taking back groups of which no block is left: full groups, and the cells of regions of large
 * blocks. Others come by a group in any state, and are never waited for:
 *
 *   seen to be empty ──► leaving ──► nobody is in the table who came before ──► still leaving, and
 *                          │                                                    empty: free
 *                          ▼
 *          who wants to use it makes it stay
 *
 * While a group is leaving, its head has a name that is none of a full group, so the fast ways do
 * not see it, and all others go by heads_name(), which takes the mark away before they use the
 * group. So when everybody has been out of the table since the mark was set, and it is still there,
 * nobody uses the group, and nobody did since: what an unlocked claim (atomic_add.h) wrote is seen.
 * Then one compare and swap of the head decides between who wants it and us.
 *
 * Not so for who has met a cell of a large block (block_near.h) and does not ask the head. Hence
 * these cells are claimed before it is decided, are so while they are free, and whoever claims one
 * looks again whose it is.
 *
 * Part of block_table.h. One thread at a time, in no other use of the table.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_RECLAIM_H
#define MALLOW_AGENT_LIVE_BLOCKS_RECLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/live_blocks/block_table.h"

/* Zero: none is leaving. */
struct reclaim {
	struct heads_hand hand;
	uint32_t *leaf; /* groups of its regions are leaving; NULL: none is */
	unsigned int map;
};

enum reclaim_found {
	RECLAIM_FOUND_NONE,
	RECLAIM_FOUND_SOME,
	RECLAIM_FOUND_END, /* all leaves were looked at once more */
};

/* From now on the empty groups of the next leaf are leaving. While none is. */
enum reclaim_found reclaim_begin(struct reclaim *reclaim, const struct block_table *table);

/*
 * Everybody has been out of the table since. What is still empty then is free. Returns how much
 * that is, in cells.
 */
uint32_t reclaim_end(struct reclaim *reclaim, struct block_table *table);

/* How much there is of groups, free ones included: in cells. */
#define RECLAIM_FULL_CELLS ((uint32_t)(sizeof(struct live_full) / LIVE_CELL_SIZE))
static inline uint32_t reclaim_size(const struct block_table *table)
{
	return __atomic_load_n(&table->cells.last, __ATOMIC_RELAXED) +
	       __atomic_load_n(&table->fulls.last, __ATOMIC_RELAXED) * RECLAIM_FULL_CELLS;
}

#endif
