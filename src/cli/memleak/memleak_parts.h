/* What `mallow memleak` writes, whatever it is about: a process or the kernel. */
#ifndef MALLOW_CLI_MEMLEAK_MEMLEAK_PARTS_H
#define MALLOW_CLI_MEMLEAK_MEMLEAK_PARTS_H

#include "cli/memleak/memleak_run.h"
#include "ebpf/bpf/bpf_shared.h"
#include "ebpf/outstanding.h"
#include "ebpf/tracer.h"
#include "hosted/arena.h"
#include "hosted/buf.h"
#include "hosted/vec.h"
#include "report/views/memleak_view.h"

/* What a report is made of. Zeroed: empty. */
struct memleak_parts {
	VEC(struct memleak_frame) frames;
	VEC(struct memleak_stack) stacks;
	VEC(struct memleak_block) blocks;
	VEC(const char *) warnings;
	struct arena arena;
};

void memleak_parts_deinit(struct memleak_parts *parts);

struct err *memleak_parts_add_blocks(struct memleak_parts *parts, const struct outstanding *all);

/* Adds "COUNT TEXT" to the warnings, unless count is 0. */
struct err *memleak_parts_warn(struct memleak_parts *parts, uint64_t count, const char *text);
/* Adds a warning. It is copied. */
struct err *memleak_parts_warn_text(struct memleak_parts *parts, const char *text);

/* Fills in the sums of all stacks. */
void memleak_parts_sum(const struct outstanding *all, struct memleak_view *view);

/* Completes the view by the parts and the time, and writes it as text or JSON. */
void memleak_parts_write(const struct memleak_parts *parts, const struct memleak_wanted *wanted,
			 struct memleak_view *view, struct buf *out);

/*
 * Says where the probes of a tracer are, for `mallow attach`, too: a line for each module with an
 * allocator, and for each function that could not be probed.
 */
void hooked_text_put(struct buf *buf, const struct tracer *tracer);

/* A line of `mallow memleak -t`. The event is EVENT_ENTERED, EVENT_EXITED, or a free. */
void memleak_line_write(struct buf *out, const struct event *event);

#endif
