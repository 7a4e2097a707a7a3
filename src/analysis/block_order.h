/* A recording's blocks in another order than that of their allocation. */
#ifndef MALLOW_ANALYSIS_BLOCK_ORDER_H
#define MALLOW_ANALYSIS_BLOCK_ORDER_H

#include <stdint.h>

#include "hosted/err.h"

/*
 * *ret: the numbers 0 … count - 1 by ascending keys, equal ones in the order of their numbers; to
 * be freed. An error where there are more than UINT32_MAX.
 */
struct err *block_order_create(const uint64_t *keys, uint64_t count, uint32_t **ret);

#endif
