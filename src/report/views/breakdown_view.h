/* Which part of a breakdown its writers (text, JSON, CSV) show. */
#ifndef MALLOW_REPORT_VIEWS_BREAKDOWN_VIEW_H
#define MALLOW_REPORT_VIEWS_BREAKDOWN_VIEW_H

#include "analysis/breakdown/breakdown.h"

struct breakdown_view {
	const struct breakdown *breakdown; /* sorted by metric and inclusive */
	enum metric metric;
	bool inclusive; /* sorted by inclusive sums */
	uint32_t top;   /* rows shown, 0: all */
};

/* How many rows are written. */
static inline uint32_t breakdown_view_rows(const struct breakdown_view *view)
{
	uint32_t count = view->breakdown->count;

	return view->top && view->top < count ? view->top : count;
}

#endif
