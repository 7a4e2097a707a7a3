/*
 * A filter on mappings (map_lives.h), by the conditions that they have in common with blocks: when
 * and where they are, how large, and their stacks. And of blocks: which lie in a mapping.
 */
#ifndef MALLOW_ANALYSIS_FILTER_FILTER_MAPS_H
#define MALLOW_ANALYSIS_FILTER_FILTER_MAPS_H

#include "analysis/filter/filter_data.h"
#include "analysis/views/map_lives.h"

/* Whether mappings have a condition. parameter: index in filter_parameters(). */
bool filter_maps_have(size_t parameter);

/*
 * Finds the mappings that match: bit i is lives->items[i]; count is not set. Else as
 * filter_match().
 */
struct err *filter_maps(const struct filter *filter, const struct recording *recording,
			struct symbolized *symbolized, const struct map_lives *lives,
			struct filter_match *ret);

/* The condition from_map: removes blocks from the match. The only error: no memory. */
struct err *filter_from_map(const struct filter *filter, const struct recording *recording,
			    struct filter_match *match);

#endif
