/*
 * What some of a recording's blocks come to for each site: sums, and bounds of sizes and times. One
 * pass over the columns, by all processors.
 */
#ifndef MALLOW_ANALYSIS_VIEWS_SITE_EXTENT_H
#define MALLOW_ANALYSIS_VIEWS_SITE_EXTENT_H

#include "analysis/recording.h"

/* Of one site. All but the counts is of no meaning where calls is 0. */
struct site_extent {
	uint64_t calls;
	uint64_t leaked; /* of these, never freed in the recording */
	uint64_t size, min_size, max_size;
	uint64_t first_ns, last_ns; /* of their allocations */
	uint64_t first; /* block, or another number that is lower for what is allocated before */
};

/*
 * *ret: an array, one for each site, to be freed. bits: which blocks count (block_bits.h); NULL:
 * all, with what was culled. Blocks of a sampled recording count as what they stand for.
 */
struct err *site_extents_create(const struct recording *recording, const uint64_t *bits,
				struct site_extent **ret);

#endif
