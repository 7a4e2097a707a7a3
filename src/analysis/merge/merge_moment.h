/* The moment at which several recordings together had most bytes live. */
#ifndef MALLOW_ANALYSIS_MERGE_MERGE_MOMENT_H
#define MALLOW_ANALYSIS_MERGE_MERGE_MOMENT_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/load/live_line.h"

/* One recording on the time line that all of them share. */
struct merge_line {
	const struct live_step *steps;
	size_t count;
	uint64_t start_ns; /* of the recording: its steps' times count from there */
	uint64_t end_ns;   /* its memory is gone then; UINT64_MAX: it never goes */
	/* Result: how many operations the recording had had at the moment; 0: nothing was live. */
	uint64_t operations;
};

/* *ret receives the first such moment, and each line its part of it. */
struct err *merge_moment_find(struct merge_line *lines, size_t count, uint64_t *ret);

#endif
