/*
 * What is in a recording, put together by something else than its stacks: by function, source file,
 * module, thread or size.
 *
 * Of functions, files and modules a row has two sums. Its own are of the allocations that it asked
 * for itself: of the innermost frame that is not itself a part of the allocator (allocating.h). Its
 * inclusive ones are of all stacks in which it is, each counted once however often it is there.
 * They come from sites, so that they are of merged recordings, too. Rows by thread and by size come
 * from blocks, and have sums of their own only.
 */
#ifndef MALLOW_ANALYSIS_BREAKDOWN_BREAKDOWN_H
#define MALLOW_ANALYSIS_BREAKDOWN_BREAKDOWN_H

#include "analysis/filter/filter.h"
#include "analysis/names/symbolized.h"
#include "analysis/sites/metric.h"

enum breakdown_by {
#define BREAKDOWN(NAME, name, plural, of_blocks) BREAKDOWN_##NAME,
#include "analysis/breakdown/breakdown.def"
#undef BREAKDOWN
	BREAKDOWN_COUNT,
};

struct breakdown_info {
	const char *name, *plural;
	bool of_blocks; /* it needs blocks, and has nothing inclusive */
};

const struct breakdown_info *breakdown_info(enum breakdown_by by);

struct breakdown_row {
	struct site own;
	struct site inclusive;
	bool own_peak_known; /* own.own_peak_bytes is: of several sites it is not */
	uint32_t sites;      /* that are in `own`; by thread and size: 0 */
	uint32_t number;     /* in the order in which rows came to be */
	/*
	 * By function, file and module: what is common to all of it, and a frame of it, NULL: there
	 * was no stack. A function of another module than the program has that behind it in
	 * brackets; what has no symbol, or no known file, is called by its module in brackets
	 * alone.
	 */
	const char *name;
	const struct named_frame *frame;
	const struct recorded_thread *thread; /* by thread */
	uint64_t smallest, largest;           /* by size */
	bool culled; /* what CULL only counted: neither its thread nor its size is known */
};

struct breakdown {
	enum breakdown_by by;
	struct breakdown_row *rows;
	uint32_t count;
};

/* The blocks of a recording that are seen, for what is made of blocks. */
struct seen_blocks {
	const struct recording *recording; /* opened with RECORDING_BLOCKS; NULL: no blocks */
	const struct filter_match *match;  /* those that are seen */
	/* Of each stack, and in front of them of the empty one: not 0, its leaks are not seen. */
	const uint32_t *suppressed; /* NULL: all are */
};

/*
 * recording: whose sites it is made of, with symbolized; blocks: needed where it is made of these.
 * They must outlive it.
 */
struct err *breakdown_create(enum breakdown_by by, const struct recording *recording,
			     struct symbolized *symbolized, const struct seen_blocks *blocks,
			     struct breakdown **ret);
/* Accepts NULL. */
void breakdown_destroy(struct breakdown *breakdown);

/* By a metric of the rows' own or inclusive sums, the largest first; equal ones by the other sum.
 */
void breakdown_sort(struct breakdown *breakdown, enum metric metric, bool inclusive);

#endif
