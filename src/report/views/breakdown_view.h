/*
 * `mallow report --by`: the allocations of a recording by function, frame, file, line, module,
 * thread, size or mark, instead of by stack. Its writers are text, JSON and CSV.
 */
#ifndef MALLOW_REPORT_VIEWS_BREAKDOWN_VIEW_H
#define MALLOW_REPORT_VIEWS_BREAKDOWN_VIEW_H

#include "analysis/groups/block_groups.h"
#include "analysis/sums/sums.h"
#include "report/views/subject.h"

/*
 * By function, frame, file, line and module a row has two sums: `own`, what it asked for itself,
 * and `inclusive`, all stacks that it is in, each once. Both are made of sites, so merged
 * recordings have them, too. By thread, size and mark there is only `own`, made of blocks.
 * By mark each mark has a row, as each thread has: the blocks that were allocated from this mark to
 * the next. Two marks of one name are two rows, which `smallest` tells apart.
 */
struct breakdown_row {
	struct site own;
	struct site inclusive;
	bool own_peak_known; /* own.own_peak_bytes is known: not for sums of several sites */
	uint64_t first_ns;   /* by thread, size, mark: when its first block was allocated */
	uint32_t number;     /* of the group; by frames in the order in which they are met */
	/* By function, frame, file, line and module: as in struct block_groups. */
	const char *name;
	const struct named_frame *frame;
	const struct recorded_thread *thread; /* by thread */
	const char *mark;                     /* by mark: its name; "[start]": before all marks */
	uint64_t smallest, largest; /* by size; by mark the first and the last nanosecond */
	bool culled; /* the row of what CULL only counted: thread, size, mark are not known */
};

struct breakdown_view {
	/* Set by who makes it. */
	enum block_groups_by by;
	enum metric metric;
	bool inclusive; /* sorted by inclusive sums */
	uint32_t top;   /* rows shown, 0: all */

	struct breakdown_row *rows; /* by the metric, the largest first */
	uint32_t count;
	struct sums *sums; /* has the names */
};

/* Whether it needs blocks, and has no inclusive sums. */
static inline bool breakdown_view_of_blocks(enum block_groups_by by)
{
	return !block_groups_are_frames(by);
}

/* Makes the rows. view: the rest is zero. They use memory of the subject. */
struct err *breakdown_view_make(struct breakdown_view *view, const struct report_subject *subject);
/* Accepts a view without rows. */
void breakdown_view_deinit(struct breakdown_view *view);

/* How many rows are written. */
static inline uint32_t breakdown_view_rows(const struct breakdown_view *view)
{
	return view->top && view->top < view->count ? view->top : view->count;
}

#endif
