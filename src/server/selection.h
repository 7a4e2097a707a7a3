/*
 * The blocks of a data set that a filter matches. The latest few are kept: the next page, the other
 * order, or the tree of the same question is then cheap.
 */
#ifndef MALLOW_SERVER_SELECTION_H
#define MALLOW_SERVER_SELECTION_H

#include "analysis/blocks/block_pages.h"
#include "analysis/blocks/block_top.h"
#include "analysis/filter/filter.h"
#include "server/dataset.h"

/* As the choices of sort_by in parameter.def. */
enum selection_order {
	SELECTION_BY_TIME,
	SELECTION_BY_ADDRESS,
	SELECTION_BY_SIZE,
	SELECTION_ORDERS,
};

struct selection {
	char *key;
	struct filter_match match;
	const uint64_t *bits; /* block_bits.h: NULL, all */
	uint64_t count;       /* blocks that match */
	struct site_sums *sums;
	struct block_pages pages[SELECTION_ORDERS];
	struct block_top tops[SELECTION_ORDERS][2]; /* the latest, ascending and descending */
	unsigned int tops_made;
	unsigned int references;
};

/*
 * Under the lock. key: the filter as text, equal for equal ones. One reference, which may be
 * dropped without the lock. An error is the filter's, about a value that does not fit the
 * recording, or that there is no memory.
 */
struct err *selection_find(struct dataset *dataset, const struct filter *filter, const char *key,
			   struct selection **ret);
/* Accepts NULL. */
void selection_release(struct selection *selection);

/*
 * Under the lock. Its rows [first, end) in that order, if it is cheaper to choose them than to
 * order all blocks: a page, and not one after the other to the end. *ret NULL: it is not. Else it
 * is true until the next call.
 */
struct err *selection_top(struct dataset *dataset, struct selection *selection,
			  enum selection_order order, bool descending, uint64_t first, uint64_t end,
			  const uint32_t **ret);

/* Under the lock. Its blocks in that order; as long as the selection. */
struct err *selection_ranks(struct dataset *dataset, struct selection *selection,
			    enum selection_order order, const struct block_pages **ret);

/* Under the lock. What its blocks come to, for each site. */
struct err *selection_sums(struct dataset *dataset, struct selection *selection,
			   const struct site_sums **ret);

#endif
