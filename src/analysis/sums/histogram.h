/*
 * How the sizes or lifetimes of allocations are distributed: the number of allocations, and of
 * bytes, in each class (scale.h). In a sample these are estimates.
 */
#ifndef MALLOW_ANALYSIS_SUMS_HISTOGRAM_H
#define MALLOW_ANALYSIS_SUMS_HISTOGRAM_H

#include "analysis/groups/scale.h"
#include "analysis/recording.h"

/* In the order of the choices of `mallow report --histogram`. */
enum histogram_of {
	HISTOGRAM_SIZE,
	HISTOGRAM_LIFETIME, /* from the allocation to the free, ns */
};

struct histogram_sum {
	uint64_t calls, bytes;
};

struct histogram {
	enum histogram_of of;
	struct scale scale;
	size_t first, end; /* first: the first class with allocations; end: behind the last one */
	struct histogram_sum classes[SCALE_CLASSES];
	struct histogram_sum leaked; /* HISTOGRAM_LIFETIME: in no class */
	struct histogram_sum culled; /* what CULL only counted: in no class */
	struct histogram_sum all;    /* the sum of all these */
};

/*
 * Counts the blocks of `from` that are in bits (block_bits.h; NULL: all), and also what CULL only
 * counted, unless recording is a filtered one. recording: the one whose sums are shown.
 */
struct err *histogram_create(enum histogram_of of, const struct recording *recording,
			     const struct recording *from, const uint64_t *bits,
			     struct histogram *ret);

#endif
