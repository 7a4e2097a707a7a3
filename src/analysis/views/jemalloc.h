/* What jemalloc does, where it is a library of that name. Within a program nothing tells it. */
#ifndef MALLOW_ANALYSIS_VIEWS_JEMALLOC_H
#define MALLOW_ANALYSIS_VIEWS_JEMALLOC_H

#include "analysis/recording.h"

/* Whether it serves the program: all blocks are its own, or none. */
bool jemalloc_serves(const struct recording *recording);

/* Whether the innermost frame of a stack is jemalloc's. stack: a node, or RECORDING_NONE. */
bool jemalloc_called(const struct recording *recording, uint32_t stack);

#endif
