/*
 * Memory that the C library keeps for itself when own code calls it: the buffer of stdout, a
 * locale, the time zone (library_state.def). Own code cannot free it, and it does not grow with the
 * number of calls.
 */
#ifndef MALLOW_ANALYSIS_NAMES_LIBRARY_STATE_H
#define MALLOW_ANALYSIS_NAMES_LIBRARY_STATE_H

#include "analysis/names/symbolized.h"

/*
 * *ret: what is allocated with that stack is such memory, if it is never freed. A stack of
 * nothing but plumbing is all the libraries' own. A frame without a name may be the reader's, if
 * its module is no plumbing; so may be what has no stack (RECORDING_NONE).
 */
struct err *library_state_has(struct symbolized *symbolized, uint32_t stack, bool *ret);

#endif
