/* The conditions of a filter about the frames of a stack: their names, and how many they are. */
#ifndef MALLOW_ANALYSIS_FILTER_FILTER_STACKS_H
#define MALLOW_ANALYSIS_FILTER_FILTER_STACKS_H

#include "analysis/filter/filter_data.h"

/* Whether the filter has such conditions. */
bool filter_has_stacks(const struct filter *filter);

/*
 * stacks: innermost nodes, or RECORDING_NONE. kept: a byte for each of them; clears those of stacks
 * that do not match. Each name is matched once, then each frame, then each stack.
 */
struct err *filter_stacks(const struct filter *filter, const struct recording *recording,
			  struct symbolized *symbolized, const uint32_t *stacks, uint32_t count,
			  uint8_t *kept);

#endif
