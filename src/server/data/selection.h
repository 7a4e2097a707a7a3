/*
 * The blocks of a data set that a filter matches. The latest few selections are kept, so that the
 * next page, another order, or a tree of the same blocks is cheap.
 */
#ifndef MALLOW_SERVER_DATA_SELECTION_H
#define MALLOW_SERVER_DATA_SELECTION_H

#include "analysis/blocks/block_pages.h"
#include "analysis/blocks/block_top.h"
#include "analysis/filter/filter.h"
#include "hosted/cleanup.h"
#include "server/data/dataset.h"

/* In the order of sort_by's choices in parameter.def. */
enum selection_order {
	SELECTION_BY_TIME,
	SELECTION_BY_ADDRESS,
	SELECTION_BY_SIZE,
	SELECTION_BY_LIFETIME,
	SELECTION_BY_SLACK,
	SELECTION_ORDERS,
};

struct selection {
	char *key;
	struct filter_match match;
	const uint64_t *bits; /* block_bits.h: NULL, all */
	uint64_t count;       /* blocks that match */
	struct site_sums *sums;
	struct block_pages pages[SELECTION_ORDERS];
	struct block_top tops[SELECTION_ORDERS][2]; /* rows picked out: ascending, descending */
	unsigned int tops_made;
	unsigned int references;
};

/*
 * Finds or makes the selection of a filter. key: the filter as text; equal filters have equal keys.
 * *ret: a reference for the caller, who may drop it without the lock. An error: a value of the
 * filter does not fit the recording, or no memory. Call it under the lock.
 */
struct err *selection_find(struct dataset *dataset, const struct filter *filter, const char *key,
			   struct selection **ret);
/* Accepts NULL. */
void selection_release(struct selection *selection);
CLEANUP_DEFINE(struct selection *, selection_release);

/*
 * *ret: the rows [first, end) in that order, valid until the next call. *ret NULL: to sort all
 * blocks (selection_ranks()) is cheaper than to pick these out. For a few pages picking out is
 * cheaper, for all pages one after the other sorting is. Call it under the lock.
 */
struct err *selection_top(struct dataset *dataset, struct selection *selection,
			  enum selection_order order, bool descending, uint64_t first, uint64_t end,
			  const uint32_t **ret);

/* *ret: its blocks in that order, valid as long as the selection. Call it under the lock. */
struct err *selection_ranks(struct dataset *dataset, struct selection *selection,
			    enum selection_order order, const struct block_pages **ret);

/*
 * *ret: the sums of its blocks, for each site; they live as long as the selection. Call it under
 * the lock.
 */
struct err *selection_sums(struct dataset *dataset, struct selection *selection,
			   const struct site_sums **ret);

#endif
