/*
 * Sorts all blocks by size, address or the like. It looks at every block; for a single page use
 * block_top.h.
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_ORDER_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_ORDER_H

#include <stdint.h>

#include "hosted/err.h"
#include "hosted/files/spill.h"

/*
 * Sorts the rows 0 … count - 1 by their keys, ascending, equal keys by row. *ret: count row numbers
 * of 32 bits; the caller calls spill_deinit(). count is below 2^32. The only error: no memory.
 */
struct err *block_order_make(const uint64_t *keys, uint64_t count, struct spill *ret);

#endif
