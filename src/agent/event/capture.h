/*
 * thread->stack becomes that of an event's caller. What is not whole is counted. With `busy` set.
 */
#ifndef MALLOW_AGENT_EVENT_CAPTURE_H
#define MALLOW_AGENT_EVENT_CAPTURE_H

#include <stdbool.h>

#include "agent/event/thread.h"
#include "base/compiler.h"

/* A stack that is not whole, and not because nobody asked for more. */
void capture_count_incomplete_slow(enum unwind_end end);

/*
 * If the cache can do it: of a thread that is not unusual, in the epoch that it knows. The frames
 * are not settled (stack_cache.h).
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

/* Whatever the thread is doing, and whatever has changed. false: lost, and counted. */
bool capture_slow(struct thread *thread, const struct unwind_state *state);

/* By the cache where that is possible. false: lost, and counted. */
bool capture(struct thread *thread, const struct unwind_state *state);

#endif
