/* Finds blocks of the heap from which a pool of the program's own handed out memory. */
#ifndef MALLOW_ANALYSIS_FILTER_FILTER_POOLS_H
#define MALLOW_ANALYSIS_FILTER_FILTER_POOLS_H

#include "analysis/recording.h"

/* What one pool, or several at one address, handed out, by address, then time. Zeroed: nothing. */
struct filter_pool {
	struct pool_birth *births;
	size_t count;
};

/*
 * Finds the pools of that name, or the one without a name at that address ("0x…"). name NULL: all
 * pools.
 */
struct err *filter_pool_create(const struct recording *recording, const char *name,
			       struct filter_pool *ret);
void filter_pool_deinit(struct filter_pool *pool);

/*
 * What the pool handed out within the block while the block was live: that with the lowest address.
 * NULL: nothing.
 */
const struct pool_birth *filter_pool_find(const struct filter_pool *pool,
					  const struct block_columns *blocks, uint64_t block);

static inline bool filter_pool_is_in(const struct filter_pool *pool,
				     const struct block_columns *blocks, uint64_t block)
{
	return filter_pool_find(pool, blocks, block) != NULL;
}

#endif
