/* Says where the probes of a tracer are: what `mallow memleak` and `mallow attach` share. */
#ifndef MALLOW_CLI_MEMLEAK_HOOKED_TEXT_H
#define MALLOW_CLI_MEMLEAK_HOOKED_TEXT_H

#include "ebpf/tracer.h"
#include "hosted/buf.h"

/* A line for each module with an allocator, and for each function that could not be probed. */
void hooked_text_put(struct buf *buf, const struct tracer *tracer);

#endif
