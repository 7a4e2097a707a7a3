/* How fast what a filter matches grows, for verdicts.c. */
#ifndef MALLOW_ANALYSIS_CHECKS_GROWTH_H
#define MALLOW_ANALYSIS_CHECKS_GROWTH_H

#include "analysis/checks/verdicts.h"

/*
 * Bytes a second that the matching blocks together never freed, if that grew to the end (shape.h);
 * else 0. *bytes: what they never freed.
 */
uint64_t growth_of_matching(const struct check_matching *matching, uint64_t *bytes);

#endif
