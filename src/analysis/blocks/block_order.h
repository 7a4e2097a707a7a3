/*
 * All blocks sorted by size, address or the like, instead of by their allocation. This looks at
 * every block; for a single page there is block_top.h.
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_ORDER_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_ORDER_H

#include <stdint.h>

#include "hosted/err.h"
#include "hosted/files/spill.h"

/*
 * Sorts the rows 0 … count - 1 by their keys, ascending, equal ones by row. *ret: count row numbers
 * of 32 bits, the caller's to deinit. count is below 2^32. Fails without memory.
 */
struct err *block_order_make(const uint64_t *keys, uint64_t count, struct spill *ret);

#endif
