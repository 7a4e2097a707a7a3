/*
 * A cache of what is computed from a recording's blocks: orders, chains and spans. Each is made
 * when somebody first asks for it, unless an index file has it, and then kept. Callers use the
 * functions of recording.h.
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_CACHE_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_CACHE_H

#include <pthread.h>

#include "analysis/recording.h"
#include "hosted/files/spill.h"

struct block_cache {
	pthread_mutex_t lock; /* guards all that follows */
	const uint32_t *orders[BLOCK_ORDER_COUNT];
	const uint64_t *keys[BLOCK_ORDER_COUNT];
	const uint32_t *chains;
	struct chain_places places;
	bool placed; /* places were looked for */
	const struct site_span *spans;
	struct spill key_memory[BLOCK_ORDER_COUNT], order_memory[BLOCK_ORDER_COUNT], chain_memory,
		last_memory, position_memory, span_memory; /* of what was made here */
};

/* *ret: empty. */
struct err *block_cache_create(struct block_cache **ret);
/* Accepts NULL. */
void block_cache_destroy(struct block_cache *views);

#endif
