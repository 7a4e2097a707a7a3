/*
 * Captures the stack of an event's caller into thread->stack. Stacks that are not whole are
 * counted. With `busy` set.
 */
#ifndef MALLOW_AGENT_EVENT_CAPTURE_H
#define MALLOW_AGENT_EVENT_CAPTURE_H

#include <stdbool.h>

#include "agent/event/thread.h"
#include "base/compiler.h"

/* Counts a stack that is not whole, unless the settings asked for no more. */
void capture_count_incomplete_slow(enum unwind_end end);

/*
 * By the cache alone. Only for a thread that is not unusual, in the epoch that it knows. The frames
 * are not settled (stack_cache.h). false: the cache cannot do it.
 */
static inline __attribute__((always_inline)) bool capture_cached(struct thread *thread,
								 const struct unwind_state *state)
{
	enum unwind_end end = stack_cache_capture(&thread->stack, state, &thread->bounds);

	if (likely(end == UNWIND_COMPLETE))
		return true;
	capture_count_incomplete_slow(end);
	return end != UNWIND_REFUSED;
}

/* In all cases: first empties what is out of date. false: the event is lost, and counted. */
bool capture_slow(struct thread *thread, const struct unwind_state *state);

/* By the cache where possible, else by capture_slow(). false: the event is lost, and counted. */
bool capture(struct thread *thread, const struct unwind_state *state);

#endif
