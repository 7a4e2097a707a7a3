/*
 * What the blocks of each site come to beyond the sums of struct site. Made when somebody asks, for
 * it takes a look at every block.
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_SITE_SPANS_H
#define MALLOW_ANALYSIS_BLOCKS_SITE_SPANS_H

#include "analysis/recording.h"

/* One for each of the sites, into an array of site_count. The columns are those of the blocks. */
struct err *site_spans_make(const struct block_columns *blocks, uint32_t site_count,
			    struct site_span *ret);

#endif
