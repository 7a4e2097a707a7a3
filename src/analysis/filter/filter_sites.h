/* The conditions of a filter that hold for all blocks of a site or for none. */
#ifndef MALLOW_ANALYSIS_FILTER_FILTER_SITES_H
#define MALLOW_ANALYSIS_FILTER_FILTER_SITES_H

#include "analysis/filter/filter_data.h"

/*
 * *ret: a byte for each site, 1 if it matches, owned by the caller (free()); NULL: the filter has
 * no such condition, so all match.
 */
struct err *filter_sites(const struct filter *filter, const struct recording *recording,
			 struct symbolized *symbolized, uint8_t **ret);

#endif
