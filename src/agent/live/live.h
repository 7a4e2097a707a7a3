/*
 * MODE=live: the agent keeps a table of what is live, which others read while it changes
 * (trace/live.h), and writes nothing that grows with time. The recording is a file in memory. It
 * holds the table, the frames and modules of the stacks, and facts of the process.
 *
 *   an allocation ──► site by its stack (sites.h), block by its address (block_table.h),
 *                     sums of site and thread (live_threads.h)
 *   an end        ──► the block is taken out before the real free, and its sums follow
 *
 * A realloc takes the old block out when it starts, and puts it back if it fails. A child begins
 * with an empty table: it does not know its parent's blocks, and does not count their ends.
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

#include "agent/helper/report_helper.h"
#include "trace/format.h"

struct event;
struct thread;
struct unwind_state;

/* Functions of the sink (event/sink.h). live_begin() makes process->live. */
bool live_begin(struct trace_header *header);
void live_starts(const struct trace_header *header);

/*
 * live_thread_size(): how many bytes a thread needs for the table, for stacks of so many frames.
 * live_thread_prepare(): prepares them; they may hold what an ended thread, or a parent, left
 * there.
 */
size_t live_thread_size(size_t frames);
void live_thread_prepare(struct thread *thread, void *memory, size_t frames);

/*
 * A thread ends, or has another name from now on. The number for the new name is taken at its next
 * event: most threads begin with another one's name.
 */
void live_thread_leaves(struct thread *thread);

/* An allocation, or a realloc's new block, by the caller that state describes. */
void live_allocates(struct thread *thread, const struct event *event,
		    const struct unwind_state *state);

/* A block of any thread ends. Also in a signal handler that interrupted the agent. */
void live_frees(struct thread *thread, uint64_t address);

/* Before a realloc, and after it failed: see realloc_begin and realloc_fail in event/sink.h. */
uint32_t live_begins_realloc(struct thread *thread, const void *old);
void live_fails_realloc(struct thread *thread, const void *old, uint32_t before);

/*
 * An event of a signal handler that interrupted the agent. true: it must wait in `pending` until
 * its stack can be looked up. Its block is in the table by then, under event->ticket.
 * live_gives_up(): the event cannot wait after all.
 */
bool live_waits(struct thread *thread, struct event *event);
void live_gives_up(struct thread *thread, const struct event *event);

/* The event has waited; frames is its stack, innermost first. */
void live_allocated(struct thread *thread, const struct event *event, const uint64_t *frames,
		    uint32_t count);

/* Starts a report now, or as soon as another one is done. Async-signal-safe, like live_forget(). */
void live_report(enum helper_sort sort);

/*
 * A baseline: forgets everything so far. Blocks that are live now count no longer, and their ends
 * are not counted either.
 */
void live_forget(void);

/* The process ends: makes the last report, and waits for it. In a signal bracket. */
void live_report_at_end(void);

#endif
