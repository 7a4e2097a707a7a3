/* How many allocations have each frame of a recording on their stacks. */
#ifndef MALLOW_ANALYSIS_VIEWS_FRAME_CALLS_H
#define MALLOW_ANALYSIS_VIEWS_FRAME_CALLS_H

#include "analysis/recording.h"

/*
 * *ret: for each frame, how many allocations of the whole recording have it on their stacks; a
 * stack that has it twice counts once. The caller owns *ret (free()).
 */
struct err *frame_calls_create(const struct recording *recording, uint64_t **ret);

#endif
