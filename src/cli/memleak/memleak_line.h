/* A line of `mallow memleak -t`. */
#ifndef MALLOW_CLI_MEMLEAK_MEMLEAK_LINE_H
#define MALLOW_CLI_MEMLEAK_MEMLEAK_LINE_H

#include "ebpf/bpf/bpf_shared.h"
#include "hosted/buf.h"

/* The event is EVENT_ENTERED, EVENT_EXITED, or a free. */
void memleak_line_write(struct buf *out, const struct event *event);

#endif
