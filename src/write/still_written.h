/*
 * Tells whether somebody may still write to a recording. Then the file must keep its place and its
 * bytes.
 */
#ifndef MALLOW_WRITE_STILL_WRITTEN_H
#define MALLOW_WRITE_STILL_WRITTEN_H

#include <stdbool.h>

#include "trace/format.h"

/* fd: the recording, open for reading. header: its present one. */
bool still_written(int fd, const struct trace_header *header);

#endif
