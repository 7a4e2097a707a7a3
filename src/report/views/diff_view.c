#include "report/views/diff_view.h"

const char *diff_view_by_name(enum diff_by by)
{
	static const char *const names[] = {
		[DIFF_BY_FUNCTION] = "function",
		[DIFF_BY_SITE] = "site",
		[DIFF_BY_FILE] = "file",
		[DIFF_BY_MODULE] = "module",
	};

	return names[by];
}

uint64_t diff_view_sum(const struct diff_view *view, int side, enum metric metric)
{
	return metric_of_sum(metric, recording_summary(view->diff->sides[side]));
}

bool diff_view_of_moments(const struct diff_view *view)
{
	return view->sides[DIFF_BEFORE].moment && view->sides[DIFF_AFTER].moment;
}
