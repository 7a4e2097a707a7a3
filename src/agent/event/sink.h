/*
 * Where events go. There is one sink in a process, which the settings choose before the first
 * event:
 *
 *   record/  each event into the recording
 *   cull/    in front of that: blocks that are freed while they are young only as sums (CULL)
 *   live/    a table of what is live, and no events (MODE=live)
 *
 * The rooms that stand before these three call none of them by name. Two functions,
 * event_write_here() and event_write_free(), record what is ordinary by themselves, for they are
 * the hot path; a sink that wants more than the rest says takes_all. That of live/ has a hot path
 * of its own (live_hook.h).
 *
 * All functions are called by the thread itself. But for realloc_begin() and realloc_fail() its
 * `busy` is set, or signals are blocked.
 */
#ifndef MALLOW_AGENT_EVENT_SINK_H
#define MALLOW_AGENT_EVENT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "trace/format.h"

struct event;
struct thread;
struct unwind_state;

/* What is known of the old block of a realloc. */
enum sink_old {
	SINK_NOT_ASKED = 0, /* the thread is not selective: recorded as all are */
	SINK_UNKNOWN,
	SINK_RECORDED,
	SINK_HELD, /* plus a number of the sink's: recorded, but held back */
};

struct sink {
	/* Every event of every thread comes to allocate() and end(): thread->selective. */
	bool takes_all;
	/* It finds out by itself whether a block is recorded: the sets of admission.h stay empty.
	 */
	bool knows_blocks;
	/* No two events may share a time: event_clock.h. */
	bool exact_times;

	/*
	 * An allocation, or a realloc whose old block has ended, by the caller that state
	 * describes. Of a thread that is unusual, or cannot be handled by the caches. It may have
	 * no cursor: a fork has wiped it.
	 */
	void (*allocate)(struct thread *thread, const struct event *event,
			 const struct unwind_state *state);
	/* A block ends, by the hook that the thread is in. operation: enum trace_op. */
	void (*end)(struct thread *thread, uint8_t operation, uint64_t ticks, uint64_t address);

	/*
	 * Of a selective thread. Before a realloc the old block ends, as another thread may be
	 * given its address before the realloc returns: enum sink_old. It failed: the block is as
	 * it was. It did not: whether there is an event left, which is changed to what is.
	 * in_handler: of a signal handler that interrupted the agent.
	 */
	uint32_t (*realloc_begin)(struct thread *thread, const void *old);
	void (*realloc_fail)(struct thread *thread, const void *old, uint32_t before);
	bool (*realloc_end)(struct thread *thread, uint32_t before, struct event *event,
			    bool in_handler);

	/*
	 * An event of a signal handler that interrupted the agent. true: it is to wait in `pending`
	 * until the agent is done, then it comes by waited(), with its stack, innermost first.
	 */
	bool (*waits)(struct thread *thread, struct event *event);
	void (*waited)(struct thread *thread, const struct event *event, const uint64_t *frames,
		       uint32_t count);

	/* From here on a sink leaves NULL what it has no use for. */

	/* The recording's file is there. false: no memory; then nothing is recorded. */
	bool (*begin)(struct trace_header *header);
	/* Its header is filled, but for the magic: times count from header->start_ticks on. */
	void (*start)(const struct trace_header *header);

	/* How much memory of its own a thread needs, for stacks of so many frames; and it gets it,
	 * perhaps from a thread that has ended, or as a parent left it. Both or none. */
	size_t (*thread_size)(size_t frames);
	void (*thread_begin)(struct thread *thread, void *memory, size_t frames);
	void (*thread_end)(struct thread *thread); /* more than once is the same as once */
	void (*thread_renamed)(struct thread *thread);

	/* After waits(): it cannot wait, and is lost. */
	void (*give_up)(struct thread *thread, const struct event *event);

	/* Whether it wants records of that kind (enum trace_record); NULL: of all. */
	bool (*wants)(uint8_t kind);
	/* The end of the block at address is to be noticed, whatever the block is. */
	void (*watch)(uint64_t address);

	/* All four or none. What is held back is written; false: something could not be. finish():
	 * the image ends, or seems to, and from now on nothing is held back; resume(): it goes on.
	 * stop(): the recording has stopped, and what is held back is lost, for that reason. */
	bool (*write_held)(struct thread *thread);
	bool (*finish)(struct thread *thread);
	void (*resume)(void);
	void (*stop)(enum trace_loss reason);
	/* The image has ended, and its header says so. */
	void (*ended)(enum trace_end reason);
	/* The child of a fork that interrupted a write goes on in it: with memory of its own. */
	void (*detach)(void);
};

/* NULL before the settings are read. Kept across fork. */
extern const struct sink *sink hidden;

/* Whether something may be held back. */
static inline bool sink_holds_back(void)
{
	return sink && sink->finish;
}

static inline bool sink_wants(uint8_t kind)
{
	return likely(!sink->wants) || sink->wants(kind);
}

static inline void sink_thread_ends(struct thread *thread)
{
	if (sink->thread_end)
		sink->thread_end(thread);
}

#endif
