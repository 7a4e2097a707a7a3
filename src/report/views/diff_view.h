/* What the views of a diff show. */
#ifndef MALLOW_REPORT_VIEWS_DIFF_VIEW_H
#define MALLOW_REPORT_VIEWS_DIFF_VIEW_H

#include "analysis/diff/diff_rows.h"
#include "analysis/leaks/suppressed.h"
#include "analysis/process_list.h"

struct diff_side_view {
	const char *typed; /* the recording, and the moment behind it, as given */
	bool moment;       /* it is what was live at a moment: a moment has no peak */
	double scale;      /* as in struct diff_side */
	const struct process_list *processes; /* of merged recordings; NULL: it is one */
	const struct suppressed *suppressed;  /* leaks that were left out; NULL: none */
};

struct diff_view {
	const struct diff *diff;
	enum diff_by by;
	enum metric metric;
	const struct diff_rows *rows;      /* by `by` */
	const struct diff_rows *functions; /* what the headline of a text names */
	const struct diff_rows *sites;     /* whose stacks a text shows; NULL: none */
	struct diff_side_view sides[DIFF_SIDES];
	uint32_t top; /* how many rows are shown; 0: all */
};

/* The names of enum diff_by, as typed: "function". */
static inline const char *diff_view_by_name(enum diff_by by)
{
	static const char *const names[] = {
		[DIFF_BY_FUNCTION] = "function",
		[DIFF_BY_SITE] = "site",
		[DIFF_BY_FILE] = "file",
		[DIFF_BY_MODULE] = "module",
	};

	return names[by];
}

/* A metric of a side as a whole. */
static inline uint64_t diff_view_sum(const struct diff_view *view, int side, enum metric metric)
{
	return metric_of_sum(metric, recording_summary(view->diff->sides[side]));
}

/* Both sides are what was live at a moment. */
static inline bool diff_view_of_moments(const struct diff_view *view)
{
	return view->sides[DIFF_BEFORE].moment && view->sides[DIFF_AFTER].moment;
}

/* How many rows are shown. */
static inline uint32_t diff_view_rows(const struct diff_view *view)
{
	return view->top && view->top < view->rows->count ? view->top : view->rows->count;
}

#endif
