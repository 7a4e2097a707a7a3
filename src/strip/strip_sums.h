/* Writes the sums of what is in no event: docs/trace-format.md, section 4.3. */
#ifndef MALLOW_STRIP_STRIP_SUMS_H
#define MALLOW_STRIP_STRIP_SUMS_H

#include "strip/strip_stream.h"

/*
 * Writes stacks and sums into the stream that has begun. Frames without a definition in the file
 * get one.
 */
struct err *strip_sums_write(struct strip_copy *copy);

#endif
