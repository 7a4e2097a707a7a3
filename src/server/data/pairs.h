/*
 * Recordings that are compared: two data sets on common stacks, so that each view can be made of
 * either and be subtracted.
 *
 *	after, before          as the catalog has them
 *	diff                   analysis/diff of both as a whole: stacks that both name alike are one
 *	pair, pair->before     data sets of its sides: the same blocks, at common sites
 *
 * The latest pairs are kept, because it takes a while to make one: all frames get names. A pair
 * holds the data sets that it was made of.
 */
#ifndef MALLOW_SERVER_DATA_PAIRS_H
#define MALLOW_SERVER_DATA_PAIRS_H

#include "server/data/dataset.h"

#define PAIRS_KEPT 2

struct pairs {
	pthread_mutex_t lock;               /* guards the rest; also held while a pair is made */
	struct dataset *latest[PAIRS_KEPT]; /* the latest used first; NULL: none */
};

void pairs_init(struct pairs *pairs);
/* No request may be under way. */
void pairs_deinit(struct pairs *pairs);

/* *ret: the pair, with a reference for the caller, who must hold no lock of a data set. */
struct err *pairs_find(struct pairs *pairs, struct dataset *after, struct dataset *before,
		       struct dataset **ret);

/*
 * Drops all pairs that no request uses. of: only those that were made of this data set; NULL: of
 * any. Whether there was one.
 */
bool pairs_drop(struct pairs *pairs, const struct dataset *of);

#endif
