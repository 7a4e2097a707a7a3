/*
 * Where events go. A process has one sink, which the settings choose before the first event:
 *
 *   record/  writes each event into the recording
 *   cull/    in front of that: keeps only sums of blocks that are freed while they are young (CULL)
 *   live/    keeps a table of what is live, and no events (MODE=live)
 *
 * Rooms that stand before these three call them only by this table. For speed, ordinary events go
 * past it: event_write_here() and event_write_free() record them directly, unless the sink says
 * takes_all. live/ has a hot path of its own (live_hook.h).
 *
 * A thread calls these functions for itself. Its `busy` is set, or signals are blocked, except in
 * realloc_begin() and realloc_fail().
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

/* What is known of a realloc's old block. */
enum sink_old {
	SINK_NOT_ASKED = 0, /* the thread is not selective: all blocks are recorded */
	SINK_UNKNOWN,
	SINK_RECORDED,
	SINK_HELD, /* held back; SINK_HELD + n: n is the sink's number of the block */
};

struct sink {
	/* All events of all threads come to allocate() and end(): thread->selective is set. */
	bool takes_all;
	/* The sink itself knows which blocks are recorded: the sets of admission.h stay empty. */
	bool knows_blocks;
	/* No two events may have the same time: event_clock.h. */
	bool exact_times;

	/*
	 * An allocation, or a realloc whose old block has ended, by the caller that state
	 * describes. It comes here if the thread is unusual, or the caches cannot handle it. The
	 * thread may have no cursor: a fork has wiped it.
	 */
	void (*allocate)(struct thread *thread, const struct event *event,
			 const struct unwind_state *state);
	/* A block ends, in the hook that the thread is in. operation: enum trace_op. */
	void (*end)(struct thread *thread, uint8_t operation, uint64_t ticks, uint64_t address);

	/*
	 * A realloc of a selective thread. realloc_begin(), before the real one: ends the old
	 * block, because another thread may get its address before the realloc returns.
	 * realloc_fail(), if it failed: puts the block back. realloc_end(), if it succeeded:
	 * changes the event to what is left to record, and returns whether anything is. before:
	 * what realloc_begin() returned, SINK_…. in_handler: in a signal handler that interrupted
	 * the agent.
	 */
	uint32_t (*realloc_begin)(struct thread *thread, const void *old);
	void (*realloc_fail)(struct thread *thread, const void *old, uint32_t before);
	bool (*realloc_end)(struct thread *thread, uint32_t before, struct event *event,
			    bool in_handler);

	/*
	 * An event of a signal handler that interrupted the agent. true: it must wait in `pending`;
	 * when the agent is done, waited() gets it, with its stack, innermost first.
	 */
	bool (*waits)(struct thread *thread, struct event *event);
	void (*waited)(struct thread *thread, const struct event *event, const uint64_t *frames,
		       uint32_t count);

	/* All functions from here on may be NULL. */

	/* The recording's file was made. false: no memory, so nothing is recorded. */
	bool (*begin)(struct trace_header *header);
	/* The header is filled, except for the magic. Times count from header->start_ticks. */
	void (*start)(const struct trace_header *header);

	/*
	 * thread_size(): how many bytes the sink needs for a thread, for stacks of so many frames.
	 * thread_begin(): gives them to a thread; they may hold what an ended thread, or a parent,
	 * left there. Both or none.
	 */
	size_t (*thread_size)(size_t frames);
	void (*thread_begin)(struct thread *thread, void *memory, size_t frames);
	void (*thread_end)(struct thread *thread); /* a second call does nothing */
	void (*thread_renamed)(struct thread *thread);

	/* After waits() returned true: the event cannot wait after all, and is lost. */
	void (*give_up)(struct thread *thread, const struct event *event);

	/* Whether the sink wants records of that kind (enum trace_record). NULL: of all kinds. */
	bool (*wants)(uint8_t kind);
	/* From now on the sink must notice the end of the block at address, recorded or not. */
	void (*watch)(uint64_t address);

	/*
	 * For events that are held back; all four or none. write_held(): writes them; false:
	 * something could not be written. finish(): does the same because the image ends, or seems
	 * to; from then on nothing is held back. resume(): the image goes on after all. stop(): the
	 * recording has stopped for that reason; counts what is held back as lost.
	 */
	bool (*write_held)(struct thread *thread);
	bool (*finish)(struct thread *thread);
	void (*resume)(void);
	void (*stop)(enum trace_loss reason);
	/* The image has ended, and the header says so. */
	void (*ended)(enum trace_end reason);
	/* In the child of a fork that interrupted a write: from now on uses memory of its own. */
	void (*detach)(void);
};

/* NULL before the settings are read. Kept across fork. */
extern const struct sink *sink hidden;

/* Whether the sink holds events back. */
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
