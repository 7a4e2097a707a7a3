/*
 * Tells whether somebody may still write to a recording. Then the file must keep its place and its
 * bytes.
 */
#ifndef MALLOW_FINISH_FINISH_LIVE_H
#define MALLOW_FINISH_FINISH_LIVE_H

#include <stdbool.h>

#include "trace/format.h"

/* fd: the recording, open for reading. */
bool finish_live(int fd, const struct trace_header *header);

#endif
