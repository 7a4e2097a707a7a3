/*
 * Memory that the C library keeps for itself when own code calls it: the buffer of stdout, a
 * locale, the time zone (library_state.def). Own code cannot free it, and it does not grow with the
 * number of calls.
 */
#ifndef MALLOW_ANALYSIS_NAMES_LIBRARY_STATE_H
#define MALLOW_ANALYSIS_NAMES_LIBRARY_STATE_H

#include "analysis/names/symbolized.h"

/*
 * *ret: whether a block with that stack is such memory, if it is never freed. It is if the stack is
 * all plumbing. A frame without a name may be the reader's own, unless its module is plumbing. A
 * block without a stack (RECORDING_NONE) may be the reader's, too. Both count as the reader's.
 */
struct err *library_state_has(struct symbolized *symbolized, uint32_t stack, bool *ret);

#endif
