/*
 * MODE=live: what is live is kept in a table that others read while it changes (trace/live.h), and
 * nothing is written that grows with time. The recording is a file in memory; it has the table, the
 * frames and modules that stacks name, and facts of the process.
 *
 *   an allocation ──► site by its stack (sites.h), block by its address (block_table.h),
 *                     sums of site and thread (live_threads.h)
 *   an end        ──► the block is taken out before the real free, and its sums follow
 *
 * A realloc ends its old block when it starts, and that is put back if it fails. A child begins
 * with an empty table: of its parent's blocks it knows nothing, and their ends are not counted.
 *
 * There are two ways in. The hooks call live_hook.h themselves for an open thread's malloc and
 * free: live_way (ground/state.h) tells them to. Everything else, such as nested calls, signal
 * handlers and reallocs, comes by the sink (live_sink.c).
 */
#ifndef MALLOW_AGENT_LIVE_LIVE_H
#define MALLOW_AGENT_LIVE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/live_dump/helper.h"
#include "trace/format.h"

struct event;
struct thread;
struct unwind_state;

/* What the sink does (event/sink.h); live_begin() makes process->live. */
bool live_begin(struct trace_header *header);
void live_starts(const struct trace_header *header);

/*
 * How much memory a thread needs for the table, for stacks of so many frames; and makes that memory
 * ready, whatever a thread that has ended, or a parent, left in it.
 */
size_t live_thread_size(size_t frames);
void live_thread_prepare(struct thread *thread, void *memory, size_t frames);

/*
 * A thread ends, or has another name from now on. It has its place among the threads of that name
 * with its next event: most begin with the name of another.
 */
void live_thread_leaves(struct thread *thread);

/* An allocation, also that of a realloc's new block, by the caller that state describes. */
void live_allocates(struct thread *thread, const struct event *event,
		    const struct unwind_state *state);

/* A block ends, whoever's it was. In a signal handler that interrupted the agent, too. */
void live_frees(struct thread *thread, uint64_t address);

/* Before a realloc, and when it has failed. */
uint32_t live_begins_realloc(struct thread *thread, const void *old);
void live_fails_realloc(struct thread *thread, const void *old, uint32_t before);

/*
 * An event of a signal handler that interrupted the agent. true: it is to wait in `pending` until
 * its stack can be looked up; its block is known by then, by event->ticket.
 * live_gives_up(): it cannot wait.
 */
bool live_waits(struct thread *thread, struct event *event);
void live_gives_up(struct thread *thread, const struct event *event);

/* It has waited, with its stack, innermost first. */
void live_allocated(struct thread *thread, const struct event *event, const uint64_t *frames,
		    uint32_t count);

/* A report now, or as soon as there is room for one. Async-signal-safe, as the next. */
void live_report(enum helper_sort sort);

/* Everything so far: what is live now does not count any more, nor does its end. */
void live_forget(void);

/* The process ends: the last report, which is waited for. In a signal bracket. */
void live_report_at_end(void);

#endif
