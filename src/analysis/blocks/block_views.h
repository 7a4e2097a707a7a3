/*
 * What is made of a recording's blocks when it is first asked for, and kept: recording.h says what
 * of it callers see. An index file may have brought it.
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_VIEWS_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_VIEWS_H

#include <pthread.h>

#include "analysis/recording.h"
#include "hosted/spill.h"

struct block_views {
	pthread_mutex_t lock; /* guards all of the following */
	const uint32_t *orders[BLOCK_ORDER_COUNT];
	const struct site_span *spans;
	struct spill order_memory[BLOCK_ORDER_COUNT], span_memory; /* of what was made here */
};

/* *ret: nothing was made. */
struct err *block_views_create(struct block_views **ret);
/* Accepts NULL. */
void block_views_destroy(struct block_views *views);

#endif
