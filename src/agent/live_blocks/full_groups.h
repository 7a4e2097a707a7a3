/*
 * The full groups of the table of live blocks, by their number (trace/live.h).
 *
 * Lock-free, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_FULL_GROUPS_H
#define MALLOW_AGENT_LIVE_BLOCKS_FULL_GROUPS_H

#include <stdint.h>

#include "agent/live_blocks/number_stack.h"
#include "trace/live.h"

#define FULL_GROUPS_CHUNK_BITS 12 /* 1 MiB each */
#define FULL_GROUPS_CHUNKS     (LIVE_FULLS >> FULL_GROUPS_CHUNK_BITS)

/* Zero: none. */
struct full_groups {
	struct live_full *chunks[FULL_GROUPS_CHUNKS]; /* atomic */
	uint32_t last; /* atomic: the number that was made last; 0: none was */
	struct number_stack free;
};

/* Takes a full group that nobody has; its entries are zero. NULL: there are no more. */
struct live_full *full_groups_take(struct full_groups *groups, uint32_t *number);

/* Gives back a full group that has no entries any more. */
void full_groups_give_back(struct full_groups *groups, uint32_t number);

/* The full group of that number, which was taken. */
static inline struct live_full *full_groups_at(const struct full_groups *groups, uint32_t number)
{
	return &__atomic_load_n(&groups->chunks[number >> FULL_GROUPS_CHUNK_BITS],
				__ATOMIC_RELAXED)[number & ((1u << FULL_GROUPS_CHUNK_BITS) - 1)];
}

#endif
