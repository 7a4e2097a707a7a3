/*
 * Captures the stack of an event's caller into thread->stack, and counts stacks that are not whole.
 * Call all of this with the thread's `busy` set.
 */
#ifndef MALLOW_AGENT_EVENT_CAPTURE_H
#define MALLOW_AGENT_EVENT_CAPTURE_H

#include <stdbool.h>

#include "agent/event/thread.h"
#include "agent/script/script_stack.h"
#include "base/compiler.h"

/*
 * Counts a stack that is broken, or that was cut although the settings ask for full stacks
 * (BACKTRACE).
 */
void capture_count_incomplete_slow(enum unwind_end end);

/* The same as capture_cached() where scripts may run. false: this thread runs none now. */
bool capture_script_slow(struct thread *thread, const struct unwind_state *state);

/*
 * Captures by the cache alone. Only for a thread that is not unusual and whose epoch is the
 * process's. Leaves frames in `top`: see stack_cache_settle(). false: the cache cannot do it.
 */
static inline __attribute__((always_inline)) bool capture_cached(struct thread *thread,
								 const struct unwind_state *state)
{
	enum unwind_end end;

	if (unlikely(script_frames) && capture_script_slow(thread, state))
		return true;
	end = stack_cache_capture(&thread->stack, state, &thread->bounds);
	if (likely(end == UNWIND_COMPLETE))
		return true;
	capture_count_incomplete_slow(end);
	return end != UNWIND_REFUSED;
}

/*
 * Captures for any thread: empties a cache that is out of date first. false: the event is lost, and
 * counted.
 */
bool capture_slow(struct thread *thread, const struct unwind_state *state);

/*
 * Captures by the cache where possible, else by capture_slow(). false: the event is lost, and
 * counted.
 */
bool capture(struct thread *thread, const struct unwind_state *state);

#endif
