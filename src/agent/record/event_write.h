/*
 * Writing events into the thread's slot. The order of every write: encode behind the cursor,
 * store the committed size, move the cursor. What is interrupted half-way and never resumed
 * (longjmp) is thereby never seen. All with `busy` set.
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
 * The hot path of recording, which the hooks call: an event, by the caller that state describes, or
 * a free (operation: enum trace_op), which has no stack. What is not ordinary, in whatever way,
 * goes to the sink (sink.h).
 */
void event_write_here(struct thread *thread, const struct event *event,
		      const struct unwind_state *state);
void event_write_free(struct thread *thread, uint8_t operation, uint64_t ticks, uint64_t address);

/* An event whose stack is captured now, from the caller that state describes. */
void event_write_slow(struct thread *thread, const struct event *event,
		      const struct unwind_state *state);

/* The end of a block. It has no stack, unless FREE_STACKS asks for it: that of state. */
void event_write_end(struct thread *thread, const struct event *event,
		     const struct unwind_state *state);

/* An event with a stack already captured, innermost first; count 0 and no frames: no stack. */
void event_write(struct thread *thread, const struct event *event, const uint64_t *frames,
		 uint32_t count);

/*
 * The halves of event_write_slow(): thread->stack becomes the caller's, settled, its frames with
 * ids; and the event, of the hook that the thread is in (now) or of an earlier one, is written with
 * that stack. false: it is lost, and counted.
 */
bool event_capture_with_ids(struct thread *thread, const struct unwind_state *state);
void event_write_any(struct thread *thread, const struct event *event, bool now);

/*
 * The frames of thread->stack, settled, beyond those that it shares, get ids if they can. false:
 * the event is lost, and counted.
 */
bool event_define_frames(struct thread *thread);

/* Nothing can be written, at least not now: the thread has no cursor afterwards. */
void event_lose(struct thread *thread);

#endif
