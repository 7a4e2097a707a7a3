/* The conditions of a filter about when blocks were allocated and freed, and how long they lived.
 */
#ifndef MALLOW_ANALYSIS_FILTER_FILTER_TIMES_H
#define MALLOW_ANALYSIS_FILTER_FILTER_TIMES_H

#include "analysis/filter/filter_data.h"

/*
 * Removes blocks from the match. blocks: allocated_ns and freed_ns of as many as the match has. An
 * error: the recording lacks a mark that a moment names.
 */
struct err *filter_times(const struct filter *filter, const struct recording *recording,
			 const struct block_columns *blocks, struct filter_match *match);

/* Resolves the moment of a condition. *set: whether the filter has the condition. */
struct err *filter_moment(const struct filter *filter, const struct recording *recording,
			  enum filter_id id, bool *set, int64_t *ret);

#endif
