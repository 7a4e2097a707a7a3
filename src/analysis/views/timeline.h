/* What was live at the end of each second of the wall clock in which it changed. */
#ifndef MALLOW_ANALYSIS_VIEWS_TIMELINE_H
#define MALLOW_ANALYSIS_VIEWS_TIMELINE_H

#include "analysis/recording.h"

struct timeline_point {
	uint64_t unix_s;
	int64_t size_delta, count_delta;    /* change in that second */
	uint64_t allocated, freed;          /* blocks in that second */
	uint64_t size, count;               /* live at its end */
	uint64_t leaked_size, leaked_count; /* allocated until then and never freed */
	/*
	 * The bytes from the lowest to the highest live chunk in the main arena of glibc's malloc,
	 * without those of the chunks themselves. 0 with other allocators.
	 */
	uint64_t fragmentation;
};

/*
 * *ret: the points, owned by the caller (free()). Of several seconds in a row in which nothing
 * happened, only the first and the last are there: lines through the points are right.
 */
struct err *timeline_create(const struct recording *recording, struct timeline_point **ret,
			    size_t *count);

#endif
