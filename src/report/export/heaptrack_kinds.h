/*
 * The kinds of blocks that heaptrack tells apart: by size and stack. Its lines of events name
 * nothing else.
 *
 * A program may have as many kinds as allocations, so only some are remembered: one that comes
 * again after it was forgotten is defined again, which is the same to heaptrack.
 */
#ifndef MALLOW_REPORT_EXPORT_HEAPTRACK_KINDS_H
#define MALLOW_REPORT_EXPORT_HEAPTRACK_KINDS_H

#include "hosted/files/spill.h"
#include "report/export/heaptrack_names.h"

struct heaptrack_kind_set;

struct heaptrack_kinds {
	const struct recording *recording;
	struct heaptrack_names *names;
	struct heaptrack_kind_set *sets;
	struct spill memory;
	uint32_t *of; /* of each block that was taken, from 0 */
	uint64_t first_size;
	uint32_t first_stack;
	uint32_t count;
};

/* Into a zeroed one; the recording is that of symbolized, with blocks. */
struct err *heaptrack_kinds_init(struct heaptrack_kinds *kinds, struct symbolized *symbolized);
/* Accepts a zeroed one. */
void heaptrack_kinds_deinit(struct heaptrack_kinds *kinds);

/*
 * Finds the kind of a block of that size; into buf come the lines that define it, if it is a new
 * one. heaptrack_gui wants kinds numbered in the order in which it meets their first allocations,
 * so that must be the order of calls.
 */
struct err *heaptrack_kinds_take(struct heaptrack_kinds *kinds, struct buf *buf, uint64_t block,
				 uint64_t size);

/*
 * Behind the last one: defines two more, by which nothing is ever allocated. To the reader a free
 * is temporary if it names the same kind as the event before, which it remembers as 0 if that was
 * a free. With these a free can be told from that:
 *
 *	+ 5  - nothing  - 5           freed, but not the block that was just allocated
 *	+ 5  - 5  - other_first       freed, of kind 0
 */
void heaptrack_kinds_finish(struct heaptrack_kinds *kinds, struct buf *buf);

/* Of no bytes: freeing it changes no sum. */
static inline uint32_t heaptrack_kinds_nothing(const struct heaptrack_kinds *kinds)
{
	return kinds->count;
}

/* The same as kind 0. */
static inline uint32_t heaptrack_kinds_other_first(const struct heaptrack_kinds *kinds)
{
	return kinds->count + 1;
}

#endif
