/*
 * For each site, the sums and the spans of sizes and times of a recording's blocks: of all of them,
 * or of those that a filter matched. One pass over the columns, by all processors.
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_SITE_SUMS_H
#define MALLOW_ANALYSIS_BLOCKS_SITE_SUMS_H

#include "analysis/recording.h"

/* The sums of one site. A block of a sampled recording counts as the number that it stands for. */
struct site_sums {
	uint64_t calls;
	uint64_t leaked; /* of these, never freed in the recording */
	uint64_t size;
	/* Orders sites by their first allocation. A block's index; bits NULL: the site's index. */
	uint64_t first;
	struct site_span span; /* threads: counted of all blocks only, else 0 */
};

/*
 * *ret: an array, one for each site; the caller owns it (free()). bits: which blocks count
 * (block_bits.h); NULL: all, and what was culled. The recording was opened with RECORDING_BLOCKS.
 */
struct err *site_sums_create(const struct recording *recording, const uint64_t *bits,
			     struct site_sums **ret);

/*
 * The spans of all blocks, an array of site_count: what recording_site_spans() makes once and
 * keeps. Its threads are counted.
 */
struct err *site_sums_spans(const struct block_columns *blocks, uint32_t site_count,
			    struct site_span *ret);

#endif
