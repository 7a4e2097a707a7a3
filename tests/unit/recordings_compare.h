/*
 * Compares two recordings in all that a view can ask for. Numbers of modules, frames and nodes may
 * differ, because several streams may have been decoded in other batches: these are compared by
 * what they stand for.
 */
#ifndef MALLOW_TESTS_RECORDINGS_COMPARE_H
#define MALLOW_TESTS_RECORDINGS_COMPARE_H

#include "analysis/recording.h"

/* NULL: they are the same. Else the first thing that differs, valid until the next call. */
const char *recordings_compare(const struct recording *a, const struct recording *b);

#endif
