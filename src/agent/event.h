/*
 * Writing events into the thread's slot. The order of every write: encode behind the cursor,
 * store the committed size, move the cursor. What is interrupted half-way and never resumed
 * (longjmp) is thereby never seen.
 */
#ifndef MALLOW_AGENT_EVENT_H
#define MALLOW_AGENT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

struct thread;
struct unwind_state;

/* One core record, before it is encoded. */
struct event {
	uint8_t operation;  /* enum trace_op */
	uint8_t heap_flags; /* enum trace_heap_flags, of an allocation */
	/* Where not all is recorded (filter.h): the old block of a realloc, or the freed one, was.
	 */
	bool old_recorded;
	uint64_t ticks;    /* of a realloc: its start */
	uint64_t duration; /* of a realloc */
	uint64_t old_address;
	uint64_t address;
	uint64_t size;
	uint64_t alignment; /* where the operation carries one */
	uint64_t slack;     /* of an allocation: usable minus requested */
};

/*
 * An event whose stack is captured now, from the caller that state describes. With `busy` set.
 */
void event_write_here(struct thread *thread, const struct event *event,
		      const struct unwind_state *state);

/* An event with a stack already captured, innermost first; count 0 and no frames: no stack. */
void event_write(struct thread *thread, const struct event *event, const uint64_t *frames,
		 uint32_t count);

/*
 * The two halves of that: thread->stack becomes the caller's, not settled. And the frames of
 * thread->stack, settled, beyond those that it shares, get ids if they can. false: lost.
 */
bool event_capture(struct thread *thread, const struct unwind_state *state);
bool event_define_frames(struct thread *thread);

/*
 * A free, by the hook that the thread is in. operation: enum trace_op. It has no stack, unless
 * FREE_STACKS asks for it.
 */
void event_write_free(struct thread *thread, uint8_t operation, uint64_t ticks, uint64_t address);

/* Of a filtered thread: whether the event is recorded, and as what (filter.h). */
bool event_keep(struct thread *thread, struct event *event);

/* A free that is kept, by the caller that state describes. */
void event_write_kept_free(struct thread *thread, const struct event *event,
			   const struct unwind_state *state);

#endif
