/*
 * The allocations of a recording summed up by function, source file, line, module, thread or size,
 * instead of by stack.
 *
 * A row of a function, file, line or module has two sums. `own`: allocations that it asked for
 * itself. `inclusive`: allocations of all stacks that it is in, each counted once even if the row
 * is there several times. Both are made from sites, so merged recordings have them, too. Rows of
 * threads and sizes are made from blocks, and have only `own`.
 *
 * By function, file and line, only the reader's own code has rows, and a stack is its innermost own
 * frame's (names/own_code.h). By frame and module, all frames have rows, and a stack is that of its
 * innermost frame that is no part of an allocator (allocating.h).
 */
#ifndef MALLOW_ANALYSIS_BREAKDOWN_BREAKDOWN_H
#define MALLOW_ANALYSIS_BREAKDOWN_BREAKDOWN_H

#include "analysis/filter/filter.h"
#include "analysis/names/symbolized.h"
#include "analysis/sites/metric.h"
#include "hosted/buf.h"

enum breakdown_by {
#define BREAKDOWN(NAME, name, plural, source) BREAKDOWN_##NAME,
#include "analysis/breakdown/breakdown.def"
#undef BREAKDOWN
	BREAKDOWN_COUNT,
};

enum breakdown_source { BREAKDOWN_FROM_OWN_CODE, BREAKDOWN_FROM_FRAMES, BREAKDOWN_FROM_BLOCKS };

struct breakdown_info {
	const char *name, *plural;
	enum breakdown_source source;
};

const struct breakdown_info *breakdown_info(enum breakdown_by by);

/* Whether it needs blocks, and has no inclusive sums. */
static inline bool breakdown_of_blocks(enum breakdown_by by)
{
	return breakdown_info(by)->source == BREAKDOWN_FROM_BLOCKS;
}

struct breakdown_row {
	struct site own;
	struct site inclusive;
	bool own_peak_known; /* own.own_peak_bytes is known: not for sums of several sites */
	uint32_t sites;      /* how many sites are in `own`; by thread and size: 0 */
	uint32_t number;     /* in the order in which rows were made */
	/*
	 * By function, frame, file, line and module: its name, and one of its frames (NULL: there
	 * was no stack). A function in another module than the program's is followed by that module
	 * in brackets. A function without a symbol, or a file that is not known, is only the module
	 * in brackets.
	 */
	const char *name;
	const struct named_frame *frame;
	const struct recorded_thread *thread; /* by thread */
	uint64_t smallest, largest;           /* by size */
	bool culled; /* the row of what CULL only counted: thread and size are not known */
};

struct breakdown {
	enum breakdown_by by;
	struct breakdown_row *rows;
	uint32_t count;
};

/* The blocks of a recording that are shown, for sums that are made from blocks. */
struct seen_blocks {
	const struct recording *recording; /* opened with RECORDING_BLOCKS; NULL: no blocks */
	const struct filter_match *match;  /* the blocks that are shown */
	/* [0] for the empty stack, [node + 1] for a stack. Not 0: its leaks are not shown. */
	const uint32_t *suppressed; /* NULL: all are shown */
};

/*
 * Makes a breakdown from the sites of recording and their names, or from blocks
 * (breakdown_of_blocks()). recording, symbolized and blocks must outlive it.
 */
struct err *breakdown_create(enum breakdown_by by, const struct recording *recording,
			     struct symbolized *symbolized, const struct seen_blocks *blocks,
			     struct breakdown **ret);
/* Is told of a row and a site whose stack the row is in: of each pair once. */
typedef void breakdown_member(void *argument, uint32_t row, uint32_t site);

/*
 * The same from sites, by function, frame, file, line or module. Calls `member` while it makes the
 * rows, which have the numbers that it is told.
 */
struct err *breakdown_create_members(enum breakdown_by by, const struct recording *recording,
				     struct symbolized *symbolized, breakdown_member *member,
				     void *argument, struct breakdown **ret);
/* Accepts NULL. */
void breakdown_destroy(struct breakdown *breakdown);

/*
 * Sorts the rows by a metric of their own or inclusive sums, the largest first. Equal ones are
 * sorted by the other sum.
 */
void breakdown_sort(struct breakdown *breakdown, enum metric metric, bool inclusive);

/* Writes the name of a row, by function, file, line or module. frame NULL: there is no stack. */
void breakdown_put_name(struct buf *buf, enum breakdown_by by, const struct named_frame *frame);

#endif
