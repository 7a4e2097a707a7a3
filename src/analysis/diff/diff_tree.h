/* The call tree of both sides of a diff. The differential flame graph shows it. */
#ifndef MALLOW_ANALYSIS_DIFF_DIFF_TREE_H
#define MALLOW_ANALYSIS_DIFF_DIFF_TREE_H

#include "analysis/diff/diff.h"
#include "analysis/trees/tree.h"

/* What the values of nodes are. */
enum diff_show {
	DIFF_SHOW_LARGER, /* of each site what it has on that side on which it has more */
	DIFF_SHOW_GREW,   /* what sites have more in after; those that fell are left out */
	DIFF_SHOW_FELL,   /* what sites have less in after; those that grew are left out */
};

/* What is shown of a site, or of a stack, that has so much before and after. */
static inline uint64_t diff_shown(enum diff_show show, uint64_t before, uint64_t after)
{
	if (show == DIFF_SHOW_LARGER)
		return after > before ? after : before;
	if (show == DIFF_SHOW_GREW)
		return after > before ? after - before : 0;
	return before > after ? before - after : 0;
}

/* Zeroed: empty. */
struct diff_tree {
	struct tree *tree;
	uint64_t *sums[DIFF_SIDES]; /* of each node and all below it, of sites in the tree */
};

/* *ret: empty; it uses memory of the diff. The only error: no memory. */
struct err *diff_tree_create(const struct diff *diff, enum metric metric, enum tree_fold fold,
			     enum diff_show show, struct diff_tree *ret);
void diff_tree_deinit(struct diff_tree *tree);

#endif
