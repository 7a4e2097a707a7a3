/*
 * How the sizes, or the lifetimes, of allocations are distributed: how many there are of each class
 * (scale.h), and how many bytes. Of a sample these are estimates.
 */
#ifndef MALLOW_ANALYSIS_BREAKDOWN_HISTOGRAM_H
#define MALLOW_ANALYSIS_BREAKDOWN_HISTOGRAM_H

#include "analysis/breakdown/breakdown.h"
#include "analysis/breakdown/scale.h"

/* Their order is that of the choices of `mallow report --histogram`. */
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
	size_t first, end; /* the classes from the first one with allocations to the last */
	struct histogram_sum classes[SCALE_CLASSES];
	struct histogram_sum leaked; /* HISTOGRAM_LIFETIME: in no class */
	struct histogram_sum culled; /* in no class: what CULL only counted */
	struct histogram_sum all;    /* of all of these */
};

/* recording: whose sums are shown, which may be those of all blocks, or of the seen ones. */
struct err *histogram_create(enum histogram_of of, const struct recording *recording,
			     const struct seen_blocks *seen, struct histogram *ret);

#endif
