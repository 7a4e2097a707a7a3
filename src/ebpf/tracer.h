/*
 * Traces the allocations of one running process: loads the BPF programs, sets the probes, keeps the
 * tables of code up to date, and reads what is outstanding.
 *
 * A tracer belongs to one thread. The process is never stopped, and nothing is written to its
 * memory but the kernel's own breakpoints, which go when the tracer does, or its process.
 */
#ifndef MALLOW_EBPF_TRACER_H
#define MALLOW_EBPF_TRACER_H

#include "ebpf/hooks/hook_find.h"
#include "ebpf/outstanding.h"
#include "ebpf/probe_way.h"

struct tracer_options {
	uint64_t min_size, max_size; /* inclusive */
	uint64_t sample_rate;        /* 1: all */
	uint32_t blocks_max;         /* in the table of live blocks */
	uint32_t stacks_max;         /* different stacks */
	uint32_t depth;              /* frames of a stack at most */
	bool combined;               /* keep sums only */
	bool trace;                  /* hand each call to on_call() */
	bool record;                 /* hand each to on_recorded(), and keep nothing */
	int way;                     /* enum probe_way; -1: the first that works */
	struct hook_options hooks;
};

/* What happens, for who owns the tracer. Functions may be NULL. */
struct tracer_events {
	void *argument;
	/* A call of an allocator's function, with options->trace. */
	void (*on_call)(void *argument, const struct event *event);
	/*
	 * With options->record: an EVENT_RECORD_… (struct recorded_call or recorded_map), in the
	 * order in which they came, which need not be that of their times.
	 */
	void (*on_recorded)(void *argument, const struct recorded *call);
	/* With options->record: a thread has ended. */
	void (*on_thread_end)(void *argument, const struct event *event);
	/* With options->record: mappings of code have changed; they were read again. */
	void (*on_code)(void *argument);
	/* The process forked a child that is not traced, or executed another program. */
	void (*on_fork)(void *argument, pid_t child);
	void (*on_exec)(void *argument);
};

struct tracer;

/*
 * Attaches to the target, which the tracer owns from now on, also on failure. Calls count from
 * tracer_start() on. bpf_support_check() has passed. An error says what prevents it: the kernel, or
 * that no allocator was found.
 */
struct err *tracer_create(struct target *target, const struct tracer_options *options,
			  const struct tracer_events *events, struct tracer **ret);
void tracer_start(struct tracer *tracer);
/* Removes the probes. Accepts NULL. */
void tracer_destroy(struct tracer *tracer);

/*
 * A descriptor that is readable when tracer_poll() has something to do. With options->record that
 * is nearly always so: wait for its edges (EPOLLET), which come when something does not bear delay.
 */
int tracer_descriptor(const struct tracer *tracer);
/* Does what events ask for: all of them, or many. Never waits. */
struct err *tracer_poll(struct tracer *tracer);

/* Whether there was more than the last tracer_poll() has done. */
bool tracer_is_behind(const struct tracer *tracer);

/* Removes the probes, and does what all events ask for that are still there. Can be read after. */
struct err *tracer_stop(struct tracer *tracer);

/* The frames of a stack, innermost first: see FRAME_INTERRUPTED. They live as long as the tracer.
 */
struct outstanding_stack tracer_stack(const struct tracer *tracer, uint32_t number);

/*
 * Reads what is outstanding into the empty *ret. older_ns: blocks that are younger are left out;
 * list_blocks: ret->blocks, too. With options->combined there are neither ages nor blocks.
 */
struct err *tracer_read(struct tracer *tracer, uint64_t older_ns, bool list_blocks, bool by_count,
			struct outstanding *ret);

/*
 * Which generation of the libraries the tables are of; TRACER_UNSETTLED: libraries changed while
 * they were looked at. A stack of another generation may have come through other code.
 */
uint32_t tracer_generation(const struct tracer *tracer);
#define TRACER_UNSETTLED UINT32_MAX

/* With options->record: how the process went on, whatever events were lost. */
bool tracer_has_executed(const struct tracer *tracer);
/* Whether a thread has ended. *ret: the exit code of the last one, as wait() has it. */
bool tracer_exit_code(const struct tracer *tracer, uint32_t *ret);

/* Whether all blocks come from glibc's malloc. */
bool tracer_is_glibc(const struct tracer *tracer);

/* Facts for reports. All pointers live as long as the tracer. */
const struct target *tracer_target(const struct tracer *tracer);
const struct hooks *tracer_hooks(const struct tracer *tracer);
enum probe_way tracer_way(const struct tracer *tracer);
struct bpf_losses tracer_losses(const struct tracer *tracer);
/* Pieces of mapped code, and files, whose unwind tables found no room: stacks end there. */
uint64_t tracer_code_left_out(const struct tracer *tracer);

#endif
