/*
 * Curves over a span of the run, which is cut into equal steps: what was live at the end of each
 * step, and what was allocated and freed within it. All of it is split into groups by a key.
 *
 *	start_ns                                                      end_ns
 *	   |------ step 0 ------|------ step 1 ------|------ step 2 ------|
 *	                     ends[0]              ends[1]              ends[2]
 *
 * Both ends of the span belong to it. What happens at the end of a step belongs to that step.
 */
#ifndef MALLOW_ANALYSIS_VIEWS_SERIES_H
#define MALLOW_ANALYSIS_VIEWS_SERIES_H

#include "analysis/recording.h"
#include "analysis/groups/block_groups.h"
#include "hosted/cleanup.h"

#define SERIES_STEPS_MAX 2000u
#define SERIES_TOP_MAX   100u

struct series_query {
	const uint64_t *bits;      /* which blocks count: block_bits.h; NULL: all */
	uint64_t start_ns, end_ns; /* start_ns <= end_ns */
	uint32_t steps; /* 1 … SERIES_STEPS_MAX; fewer if the span has fewer nanoseconds */
	const struct block_groups *groups; /* what the curves are split by */
	uint32_t top; /* so many of the largest groups have a curve, at most SERIES_TOP_MAX */
};

/* The sums of one step. A sampled recording has estimates. */
struct series_point {
	uint64_t bytes, blocks; /* live at its end: what the condition alive_at finds */
	uint64_t allocated_bytes, allocated_blocks; /* within it */
	uint64_t freed_bytes, freed_blocks;         /* within it */
};

struct series_curve {
	uint32_t group;  /* number in groups; RECORDING_NONE: all groups that have no curve */
	uint32_t groups; /* how many groups that are */
	struct series_point *points; /* one for each step */
};

struct series {
	uint32_t steps;
	uint64_t *ends;          /* of each step */
	uint64_t *most;          /* the most bytes live within each step, its begin included */
	uint64_t *slack;         /* usable bytes beyond those asked for, live at each step's end */
	struct series_curve all; /* the sum of the curves */
	struct series_curve *curves;
	uint32_t curve_count;

	/*
	 * When most was live in the span. Events with equal times count in their recorded order, so
	 * for the whole run this is the peak that reports show.
	 */
	uint64_t peak_ns, peak_bytes, peak_blocks;
	/* Indices, of the allocation that reached it. RECORDING_NONE: the span began with it. */
	uint32_t peak_thread, peak_site;
};

/*
 * recording: opened with RECORDING_BLOCKS. The groups with most bytes live on average over the span
 * get curves, the largest first. By fate each group gets one, in the order of enum block_fate. All
 * other groups share one last curve, if there are any. Groups of which nothing was live in the span
 * are left out. Looks at each block a few times, with all processors. The only error: no memory.
 */
struct err *series_create(const struct recording *recording, const struct series_query *query,
			  struct series **ret);
/*
 * The same with curves of groups that the caller chose: of groups[i] the curve i, and then one of
 * all others. query->top does not count. Without `most` and the peak, which are 0.
 */
struct err *series_create_of(const struct recording *recording, const struct series_query *query,
			     const uint32_t *groups, uint32_t count, struct series **ret);
/* Accepts NULL. */
void series_destroy(struct series *series);
CLEANUP_DEFINE(struct series *, series_destroy);

/*
 * *ret: the recording's memory samples, thinned to at most one for each step: that with most memory
 * resident. The caller owns them (free()). start_ns: of the query.
 */
struct err *series_memory(const struct recording *recording, const struct series *series,
			  uint64_t start_ns, struct memory_sample **ret, size_t *count);

/*
 * *ret: how far the recording's memory samples usually lie apart: half of the time between the
 * first and the last one is in gaps of this length or shorter ones. 0: fewer than two.
 */
struct err *series_memory_usual(const struct recording *recording, uint64_t *ret);

#endif
