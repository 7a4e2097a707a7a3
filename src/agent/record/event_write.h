/*
 * Writing events into the thread's slot. Every write has three steps: encode the event at the
 * cursor, store the committed size, move the cursor. So a reader never sees an event that was
 * interrupted half-way (longjmp). All functions are called with `busy` set.
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
 * The hot path of recording, which the hooks call. event_write_here() writes an event with the
 * stack of the caller that state describes; event_write_free() writes a free, without a stack
 * (operation: enum trace_op). Whatever is out of the ordinary goes to the sink (sink.h).
 */
void event_write_here(struct thread *thread, const struct event *event,
		      const struct unwind_state *state);
void event_write_free(struct thread *thread, uint8_t operation, uint64_t ticks, uint64_t address);

/* Writes an event with the stack of the caller that state describes, captured now. */
void event_write_slow(struct thread *thread, const struct event *event,
		      const struct unwind_state *state);

/* Writes the end of a block: without a stack, unless FREE_STACKS asks for that of state. */
void event_write_end(struct thread *thread, const struct event *event,
		     const struct unwind_state *state);

/* Writes an event with a stack that was captured before, innermost first. count 0: no stack. */
void event_write(struct thread *thread, const struct event *event, const uint64_t *frames,
		 uint32_t count);

/*
 * event_write_slow() in two steps. The first captures the stack into thread->stack, settles it
 * (stack_cache_settle()), and gives ids to its frames; false: the event is lost, and counted. The
 * second writes the event with that stack. now: the event is of the hook that the thread is in, not
 * of an earlier one.
 */
bool event_capture_with_ids(struct thread *thread, const struct unwind_state *state);
void event_write_any(struct thread *thread, const struct event *event, bool now);

/*
 * Gives ids to the frames of thread->stack that the stream's stack does not share. The stack must
 * be settled (stack_cache_settle()). false: the event is lost, and counted.
 */
bool event_define_frames(struct thread *thread);

/*
 * Counts an event that cannot be written: the thread has no cursor, or the file is full
 * (STREAM_ONLY).
 */
void event_lose(struct thread *thread);

#endif
