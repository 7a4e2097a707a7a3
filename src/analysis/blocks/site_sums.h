/*
 * What a recording's blocks come to for each site, all of them or those that a filter matched:
 * sums, and spans of sizes and times. One pass over the columns, by all processors.
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_SITE_SUMS_H
#define MALLOW_ANALYSIS_BLOCKS_SITE_SUMS_H

#include "analysis/recording.h"

/* Of one site. Blocks of a sampled recording count in the sums as what they stand for. */
struct site_sums {
	uint64_t calls;
	uint64_t leaked; /* of these, never freed in the recording */
	uint64_t size;
	uint64_t first; /* block, or another number that is lower for what is allocated before */
	struct site_span span; /* threads: counted of all blocks only, else 0 */
};

/*
 * *ret: an array, one for each site, to be freed. bits: which blocks count (block_bits.h); NULL:
 * all, with what was culled. The recording is one with its blocks.
 */
struct err *site_sums_create(const struct recording *recording, const uint64_t *bits,
			     struct site_sums **ret);

/*
 * The spans of all blocks, an array of site_count: what recording_site_spans() makes once and
 * keeps. Its threads are counted.
 */
struct err *site_spans_make(const struct block_columns *blocks, uint32_t site_count,
			    struct site_span *ret);

#endif
