/* Finds the moment at which several recordings together had most bytes live. */
#ifndef MALLOW_ANALYSIS_MERGE_MERGE_MOMENT_H
#define MALLOW_ANALYSIS_MERGE_MERGE_MOMENT_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/load/live_line.h"

/* A recording on the time line that all share. */
struct merge_line {
	const struct live_step *steps;
	size_t count;
	uint64_t start_ns; /* start of the recording: times of steps count from it */
	uint64_t end_ns;   /* when its memory is gone; UINT64_MAX: never */
	/* Result: how many operations the recording had done at the moment; 0: nothing was live. */
	uint64_t operations;
};

/*
 * *ret: the first such moment, on the shared time line; 0 if nothing was ever live. Also sets
 * `operations` of each line.
 */
struct err *merge_moment_find(struct merge_line *lines, size_t count, uint64_t *ret);

#endif
