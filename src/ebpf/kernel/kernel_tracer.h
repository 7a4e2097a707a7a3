/*
 * Traces the kernel's own allocations: loads the BPF programs for its allocators' tracepoints, and
 * reads what is outstanding. A tracer belongs to one thread.
 */
#ifndef MALLOW_EBPF_KERNEL_KERNEL_TRACER_H
#define MALLOW_EBPF_KERNEL_KERNEL_TRACER_H

#include "ebpf/kernel/kernel_symbols.h"
#include "ebpf/kernel/page_flags.h"
#include "ebpf/outstanding.h"

struct kernel_options {
	uint64_t min_size, max_size; /* inclusive */
	uint64_t sample_rate;        /* 1: all */
	uint32_t blocks_max;         /* in the table of live blocks */
	uint32_t stacks_max;         /* different stacks */
	uint32_t depth;              /* frames of a stack at most */
	bool combined;               /* keep sums only */
	bool trace;                  /* hand each call to on_call() */
	bool percpu;                 /* memory by processor, too */
	bool all_pages;              /* pages of programs, files and tables are blocks, too */
};

struct kernel_tracer;

/*
 * Attaches. bpf_support_check() has passed. on_call, with options->trace: called by
 * kernel_tracer_poll() for each allocation (EVENT_EXITED) and free (EVENT_FREED).
 */
struct err *kernel_tracer_create(const struct kernel_options *options,
				 void (*on_call)(void *argument, const struct event *event),
				 void *argument, struct kernel_tracer **ret);
/* Removes the programs. Accepts NULL. */
void kernel_tracer_destroy(struct kernel_tracer *tracer);

/* A descriptor that is readable when kernel_tracer_poll() has something to do. */
int kernel_tracer_descriptor(const struct kernel_tracer *tracer);
/* Handles all events, or many. Never waits. */
struct err *kernel_tracer_poll(struct kernel_tracer *tracer);
/* Ends the tracing. The tables can be read after. */
void kernel_tracer_stop(struct kernel_tracer *tracer);

/* Why frees of many objects at once are not seen. NULL: they are. */
const char *kernel_tracer_blind(const struct kernel_tracer *tracer);
/* Whether what pages are used for is known. */
bool kernel_tracer_knows_pages(const struct kernel_tracer *tracer);
const struct kernel_symbols *kernel_tracer_symbols(const struct kernel_tracer *tracer);

/* What was lost, since the start. */
struct kernel_lost {
	uint64_t blocks, stacks, events; /* as in struct bpf_losses */
	uint64_t scratch;                /* allocations whose stack could not be taken */
	uint64_t mistaken;               /* stacks that were found to be another when checked */
	uint64_t interrupted; /* calls, at most, that were not seen: they interrupted the tracing */
	uint64_t reused;      /* allocations at the address of another: its free was not seen */
};
struct kernel_lost kernel_tracer_lost(const struct kernel_tracer *tracer);

/* Pages that are not among the stacks. */
struct kernel_pages {
	uint64_t bytes, pages;
};

/* A cache of which the table has far more objects than it can have. */
struct kernel_doubt {
	const char *name;
	uint64_t outstanding; /* in the table */
	int64_t grew;         /* the cache, since the start, by /proc/slabinfo */
	uint64_t source;      /* of its stacks; 0: of kmalloc() */
};

/* Zeroed: empty. */
struct kernel_outstanding {
	struct outstanding all;
	struct kernel_pages pages[PAGE_USES];
	VEC(struct kernel_doubt) doubts; /* largest first; names live as long as the tracer */
	uint64_t gone; /* blocks left out: by its flags their memory is free, or used otherwise */
};

void kernel_outstanding_deinit(struct kernel_outstanding *outstanding);

/*
 * Reads what is outstanding into the empty *ret. older_ns: blocks that are younger are left out;
 * list_blocks: ret->all.blocks, too. With options->combined there are neither ages nor blocks.
 *
 * Frames begin with the function that allocates. Of pages, only those that the kernel has for
 * itself are among the stacks, unless options->all_pages. Stacks of doubtful caches come last.
 */
struct err *kernel_tracer_read(struct kernel_tracer *tracer, uint64_t older_ns, bool list_blocks,
			       bool by_count, struct kernel_outstanding *ret);

/* The name of the cache that a stack's objects are in. NULL: none is known. */
const char *kernel_tracer_cache(const struct kernel_tracer *tracer, uint64_t source);

#endif
