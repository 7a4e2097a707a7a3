/* The conditions of a filter about when blocks were allocated and freed, and how long they lived.
 */
#ifndef MALLOW_ANALYSIS_FILTER_FILTER_TIMES_H
#define MALLOW_ANALYSIS_FILTER_FILTER_TIMES_H

#include "analysis/filter/filter_data.h"

/* Removes blocks from the match. An error: the recording lacks a mark that a moment names. */
struct err *filter_times(const struct filter *filter, const struct recording *recording,
			 struct filter_match *match);

#endif
