/* Regular expressions that mean one function, for conditions of filters. */
#ifndef MALLOW_ANALYSIS_FINDINGS_FUNCTION_PATTERN_H
#define MALLOW_ANALYSIS_FINDINGS_FUNCTION_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "hosted/buf.h"

/*
 * Writes the pattern of a readable name: "^main$", "^Cache::put\(". exact: of all of it, with its
 * parameters, because another function differs only in these.
 */
void function_pattern_put(struct buf *buf, const char *name, bool exact);

#endif
