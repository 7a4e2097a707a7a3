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
#include <stdint.h>

#include "agent/helper/helper.h"
#include "base/compiler.h"

struct event;
struct sink;
struct thread;
struct unwind_state;

extern const struct sink live_sink hidden;

/* An allocation, or a realloc's new block, by the caller that state describes. */
void live_allocates(struct thread *thread, const struct event *event,
		    const struct unwind_state *state);

/* A block of any thread ends. Also in a signal handler that interrupted the agent. */
void live_frees(struct thread *thread, uint64_t address);

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
