/*
 * What the live table takes from the rest of the agent, for tests of it: memory, of which so many
 * chunks are there, the kernel's locks, and the clock.
 */
#ifndef TESTS_UNIT_LIVE_MEMORY_FAKE_H
#define TESTS_UNIT_LIVE_MEMORY_FAKE_H

#include <stddef.h>
#include <stdint.h>

#include "trace/live.h"

extern size_t fake_memory_left; /* so many more leaves, arrays and own pages */
extern size_t fake_memory_leaves;
extern uint64_t fake_memory_ticks;          /* what the clock says */
extern void (*fake_memory_meanwhile)(void); /* what others do during the next call for own pages */

/* What the table has of what readers see. */
struct fake_part {
	enum live_part part;
	uint32_t entry_size;
	uint64_t first; /* of a leaf: where its memory begins, plus 1 and its map */
	uint64_t count;
	const void *memory;
};
#define FAKE_PARTS 10000
extern struct fake_part fake_parts[FAKE_PARTS];
extern size_t fake_part_count;

/* Gives all of it back. */
void fake_memory_reset(void);

#endif
