/* The condition of a filter that leaves out known leaks. */
#ifndef MALLOW_ANALYSIS_FILTER_FILTER_SUPPRESS_H
#define MALLOW_ANALYSIS_FILTER_FILTER_SUPPRESS_H

#include "analysis/filter/filter_data.h"

/*
 * Removes from the match the blocks that were never freed and whose stacks a suppression matches,
 * so that what is left leaks as much as suppressed_create() says.
 */
struct err *filter_suppress(const struct filter *filter, const struct recording *recording,
			    struct symbolized *symbolized, struct filter_match *match);

#endif
