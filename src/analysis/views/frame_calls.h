/* How many allocations came by each frame of a recording. */
#ifndef MALLOW_ANALYSIS_VIEWS_FRAME_CALLS_H
#define MALLOW_ANALYSIS_VIEWS_FRAME_CALLS_H

#include "analysis/recording.h"

/*
 * *ret: for each frame the allocations, of the whole recording, on whose stacks it is; a stack that
 * has it twice counts once. To be freed.
 */
struct err *frame_calls_create(const struct recording *recording, uint64_t **ret);

#endif
