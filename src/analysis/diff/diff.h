/*
 * Two recordings side by side: before and after. Both are put on common stacks, which are the same
 * if their names are (merge_sites.h), so that each view of a recording can be made of either side,
 * with the same rows in the same order:
 *
 *	before ─┐                        ┌─ sides[DIFF_BEFORE]   its sums at each common site
 *	        ├─ frames, stacks, sites ┤
 *	after ──┘                        └─ sides[DIFF_AFTER]    its sums at each common site
 */
#ifndef MALLOW_ANALYSIS_DIFF_DIFF_H
#define MALLOW_ANALYSIS_DIFF_DIFF_H

#include "analysis/names/symbolized.h"
#include "hosted/cleanup.h"

enum { DIFF_BEFORE, DIFF_AFTER, DIFF_SIDES };

struct diff_side {
	const struct recording *recording; /* may be filtered, or what was live at a moment */
	struct symbolized *symbolized;
	/*
	 * Its sums are multiplied by this, and rounded so that sites add up to the whole. 1: they
	 * are as they are.
	 */
	double scale;
};

struct diff {
	/*
	 * Recordings with facts and summary of that side, and sites of both: sites[i] has the same
	 * stack in both, and no calls if that side has none with it. A side that was opened with
	 * blocks has them here, too, in the same order: a filter_match of one fits the other. They
	 * have no stacks of frees.
	 */
	const struct recording *sides[DIFF_SIDES];
	struct symbolized *symbolized; /* names of the common frames; where known, those of after */
};

/* The diff borrows from the recordings of the sides. The only error: no memory. */
struct err *diff_create(const struct diff_side sides[DIFF_SIDES], struct diff **ret);
/* Accepts NULL. */
void diff_destroy(struct diff *diff);
CLEANUP_DEFINE(struct diff *, diff_destroy);

/*
 * *ret: the same names as diff->symbolized, of one side, for another thread; the caller destroys
 * them before the diff. The only error: no memory.
 */
struct err *diff_names(const struct diff *diff, int side, struct symbolized **ret);

#endif
