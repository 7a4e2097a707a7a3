/*
 * Reclaims groups without blocks: full groups, and the cells of regions of large blocks. Other
 * threads may use a group at any time and are never waited for. So a group is first marked in its
 * head, and freed once every thread was quiescent, outside of the table:
 *
 *   empty ──► leaving ──► every thread was outside once ──► still marked and empty: free
 *                │
 *                ▼
 *       a thread that wants to use the group removes the mark: it stays
 *
 * To the fast functions a marked name is neither a full group's nor a wide one's, so they pass the
 * group by. All others ask heads_name(), which removes the mark before they use the group. So if
 * every thread was outside after the mark was set, and the mark is still there, nobody uses the
 * group, and nobody has used it since. What an unlocked claim (atomic_add.h) wrote before is
 * visible by then. One compare-and-swap of the head decides between a thread that wants the group
 * and this one.
 *
 * A thread that has met a cell of a large block (struct block_near) does not ask the head. So these
 * cells are claimed before the compare-and-swap, and stay so while they are free. A thread that
 * claims a cell checks again whose cell it is.
 *
 * Part of block_table.h. Used by one thread at a time, which is in no other use of the table.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_RECLAIM_H
#define MALLOW_AGENT_LIVE_BLOCKS_RECLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/live_blocks/block_table.h"

/* Zero: no group is leaving. */
struct reclaim {
	struct heads_hand hand;
	uint32_t *leaf; /* the leaf whose groups are leaving; NULL: none */
	unsigned int map;
};

enum reclaim_found {
	RECLAIM_FOUND_NONE,
	RECLAIM_FOUND_SOME,
	RECLAIM_FOUND_END, /* all leaves were looked at, and the next call begins anew */
};

/* Marks the empty groups of the next leaf. Only while no group is leaving. */
enum reclaim_found reclaim_begin(struct reclaim *reclaim, const struct block_table *table);

/*
 * Call when every thread was outside since reclaim_begin(). Frees the marked groups that are still
 * empty. Returns how much that is, in cells.
 */
uint32_t reclaim_end(struct reclaim *reclaim, struct block_table *table);

/* The size of all groups, free ones included, in cells. */
#define RECLAIM_FULL_CELLS ((uint32_t)(sizeof(struct live_full) / LIVE_CELL_SIZE))
static inline uint32_t reclaim_size(const struct block_table *table)
{
	return __atomic_load_n(&table->cells.last, __ATOMIC_RELAXED) +
	       __atomic_load_n(&table->fulls.last, __ATOMIC_RELAXED) * RECLAIM_FULL_CELLS;
}

#endif
