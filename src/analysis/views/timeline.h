/* What was live over time, at the end of each second of the wall clock in which it changed. */
#ifndef MALLOW_ANALYSIS_VIEWS_TIMELINE_H
#define MALLOW_ANALYSIS_VIEWS_TIMELINE_H

#include "analysis/recording.h"

struct timeline_point {
	uint64_t unix_s;
	int64_t size_delta, count_delta;    /* in that second */
	uint64_t size, count;               /* live at its end */
	uint64_t leaked_size, leaked_count; /* allocated until then, and never freed */
	/*
	 * From the lowest to the highest byte of the chunks that are live in the main arena of
	 * glibc's malloc, less what they take themselves; 0 with other allocators.
	 */
	uint64_t fragmentation;
};

/*
 * *ret: the points, to be freed. Seconds in which nothing happened are left out but for the first
 * and the last of a row of them, so that lines through the points are right.
 */
struct err *timeline_create(const struct recording *recording, struct timeline_point **ret,
			    size_t *count);

#endif
