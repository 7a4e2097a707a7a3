/*
 * Writing events into the thread's slot. The order of every write: encode behind the cursor,
 * store the committed size, move the cursor. What is interrupted half-way and never resumed
 * (longjmp) is thereby never seen.
 */
#ifndef MALLOW_AGENT_RECORD_EVENT_WRITE_H
#define MALLOW_AGENT_RECORD_EVENT_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/event/event.h"

struct thread;
struct unwind_state;

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

/* Of a filtered thread: whether the event is recorded, and as what (admission.h). */
bool event_keep(struct thread *thread, struct event *event);

/* A free that is kept, by the caller that state describes. */
void event_write_kept_free(struct thread *thread, const struct event *event,
			   const struct unwind_state *state);

#endif
