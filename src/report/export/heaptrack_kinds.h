/*
 * heaptrack's kinds of blocks: a kind is a size and a stack. Its lines of events name kinds only.
 * The strings, code positions and stacks that define a kind are written when they are first needed,
 * before the line that needs them.
 *
 * A program may have as many kinds as allocations, so only some are remembered. A kind that comes
 * again after it was forgotten is defined again, which is the same to heaptrack.
 */
#ifndef MALLOW_REPORT_EXPORT_HEAPTRACK_KINDS_H
#define MALLOW_REPORT_EXPORT_HEAPTRACK_KINDS_H

#include "analysis/names/symbolized.h"
#include "hosted/buf.h"
#include "hosted/files/spill.h"

struct heaptrack_names;
struct heaptrack_kind_set;

struct heaptrack_kinds {
	const struct recording *recording;
	struct heaptrack_names *names;
	struct heaptrack_kind_set *sets;
	struct spill memory;
	uint32_t *of; /* the kind of each block that was taken, from 0 */
	uint64_t first_size;
	uint32_t first_stack;
	uint32_t count;
};

/* kinds: zeroed. symbolized: its recording must have blocks. */
struct err *heaptrack_kinds_init(struct heaptrack_kinds *kinds, struct symbolized *symbolized);
/* Accepts a zeroed one. */
void heaptrack_kinds_deinit(struct heaptrack_kinds *kinds);

/*
 * Finds the kind of a block of that size. If it is a new kind, the lines that define it are
 * appended to buf. Call it in the order of the allocations in the file: heaptrack_gui expects kinds
 * to be numbered in the order of their first allocations.
 */
struct err *heaptrack_kinds_take(struct heaptrack_kinds *kinds, struct buf *buf, uint64_t block,
				 uint64_t size);

/*
 * To be called after the last heaptrack_kinds_take(). Defines two more kinds, of which no block is
 * ever allocated. heaptrack takes a free for temporary if it names the same kind as the event
 * before; after a free that kind is 0. The two kinds break this up:
 *
 *	+ 5  - nothing  - 5           freed, but not the block that was just allocated
 *	+ 5  - 5  - other_first       freed, of kind 0
 */
void heaptrack_kinds_finish(struct heaptrack_kinds *kinds, struct buf *buf);

/* The kind of no bytes: freeing one changes no sum. */
static inline uint32_t heaptrack_kinds_nothing(const struct heaptrack_kinds *kinds)
{
	return kinds->count;
}

/* Another kind with the size and stack of kind 0. */
static inline uint32_t heaptrack_kinds_other_first(const struct heaptrack_kinds *kinds)
{
	return kinds->count + 1;
}

#endif
