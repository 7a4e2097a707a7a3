/* The conditions of a filter that hold for all blocks of a site, or for none. */
#ifndef MALLOW_ANALYSIS_FILTER_FILTER_SITES_H
#define MALLOW_ANALYSIS_FILTER_FILTER_SITES_H

#include "analysis/filter/filter_data.h"

/*
 * A byte for each site, 1 where it matches, to be freed; NULL: there is no such condition, so that
 * all match.
 */
struct err *filter_sites(const struct filter *filter, const struct recording *recording,
			 struct symbolized *symbolized, uint8_t **ret);

#endif
