/* What each stack adds to a flame graph: one pass over the blocks, by all processors. For flame.c.
 */
#ifndef MALLOW_ANALYSIS_TREES_FLAME_VALUES_H
#define MALLOW_ANALYSIS_TREES_FLAME_VALUES_H

#include "analysis/filter/filter.h"
#include "analysis/trees/flame.h"

/*
 * The sums of a site or a node. Blocks are those that the metric is about: of PEAK those live at
 * the peak, of LEAKED those never freed, of TEMPORARY the temporary ones, else all that match.
 * Blocks of a sampled recording count as what they stand for.
 */
struct flame_value {
	uint64_t value;             /* of the metric */
	uint64_t sides[DIFF_SIDES]; /* of a difference: the metric of both sides */
	uint64_t blocks;
	uint64_t leaked; /* bytes of these blocks that were never freed */
	double lived_ns; /* the sum of their lifetimes; those never freed live until the end */
	uint64_t calls, temporary; /* of all that match; 0 if not asked for */
};

/*
 * *ret: an array, one for each site; the caller owns it (free()). Without a match it has what was
 * culled, too. The values are those of `mallow report` with the same filter. Of options, metric and
 * counts are used.
 */
struct err *flame_values_create(const struct flame_side *side, const struct flame_options *options,
				struct flame_value **ret);
/* The same of a difference, as of flame_create_change(). All but `value` and `sides` is of after.
 */
struct err *flame_values_create_change(const struct flame_side sides[DIFF_SIDES],
				       enum diff_show show, const struct flame_options *options,
				       struct flame_value **ret);

#endif
