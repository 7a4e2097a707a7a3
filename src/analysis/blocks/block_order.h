/*
 * Blocks in another order than that of allocation, and what the blocks of each site come to beyond
 * the sums of struct site. Made when somebody asks, for it takes a look at every block.
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_ORDER_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_ORDER_H

#include "analysis/recording.h"
#include "hosted/spill.h"

/*
 * Sorts the rows 0 … count - 1 by their keys, ascending, equal ones by row. *ret: count row numbers
 * of 32 bits, the caller's to deinit. Fails without memory, or with 2^32 rows and more.
 */
struct err *block_order_make(const uint64_t *keys, uint64_t count, struct spill *ret);

/* One for each of the sites, into an array of site_count. The columns are those of the blocks. */
struct err *block_order_spans(const struct block_columns *blocks, uint32_t site_count,
			      struct site_span *ret);

#endif
