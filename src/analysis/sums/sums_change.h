/*
 * What changed from one side of a diff to the other: the sums of both, row by row.
 *
 *	rows[DIFF_BEFORE]   cache_put  18.4 MB   parse     0 B
 *	rows[DIFF_AFTER]    cache_put  27.5 MB   parse  3.9 MB
 */
#ifndef MALLOW_ANALYSIS_SUMS_SUMS_CHANGE_H
#define MALLOW_ANALYSIS_SUMS_SUMS_CHANGE_H

#include "analysis/diff/diff.h"
#include "analysis/sums/sums.h"

/* The sums of one side, and what they were made by. */
struct sums_side {
	const struct sums *sums;
	const struct sums_query *query;
};

/* Zeroed: empty. */
struct sums_change {
	/*
	 * Rows of the same index have the same keys. A side without such a key has no calls there;
	 * the numbers of its groups are those of the other side if the keys of both are numbered
	 * alike, else RECORDING_NONE.
	 */
	struct sums_row *rows[DIFF_SIDES];
	uint32_t count;
};

/* Whether rows can be ordered by how much that changed. */
static inline bool sums_change_has_order(enum sums_order order)
{
	return order <= SUMS_OWN_PEAK || order == SUMS_GROWTH;
}

/*
 * Finds the rows whose column `order` changed, by the size of the change; equal changes stay in the
 * order in which their keys were met. Both sides have the same kinds of keys. Groups of sites must
 * be numbered alike: of one recording, or of common stacks. Other groups of two recordings are the
 * same by their names or ranges; several of one side that are the same count as one. The only
 * error: no memory.
 */
struct err *sums_change_create(const struct sums_side sides[DIFF_SIDES], enum sums_order order,
			       bool descending, struct sums_change *ret);
void sums_change_deinit(struct sums_change *change);

/* How much more a column has after than before, of one row of each. */
int64_t sums_change_of(const struct sums_side *sides, enum sums_order order,
		       const struct sums_row *before, const struct sums_row *after);

#endif
