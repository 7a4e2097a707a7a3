/*
 * What every recording hook does around the real function: finds the thread, tells a nested call
 * from an outermost one, and makes it safe to interrupt the agent. event/thread.h has the states.
 *
 *   GUARD_CALL(call);                       the caller's registers
 *   struct thread *thread = guard_enter(&call);
 *   p = real.malloc(size);
 *   if (thread) … thread_begin_record / write / thread_end_record …
 *   guard_leave(thread, &call);
 *
 * Budget of the fast path: ten instructions, no call, no store but the guard's own.
 */
#ifndef MALLOW_AGENT_HOOKS_GUARD_H
#define MALLOW_AGENT_HOOKS_GUARD_H

#include "agent/event/thread.h"

struct guard_call {
	struct unwind_state state; /* the hook's caller */
	struct arch_mark outer;    /* to restore when leaving: thread->outer, or ->waiting */
	struct thread *nested_in;  /* set: not recorded, a part of its outer hook */
	struct thread *pending_in; /* set: recorded later, because this interrupted the agent */
	uint32_t old;              /* enum sink_old: the old block of a realloc */
	bool patched;              /* the hook is a patched function's: patched.c */
};

// Hooks are compiled with frame pointers, by which they find their callers.
//
// The hooks that are called most only choose a way: their last act is to call another never_inline
// function, with the hook's arguments and one more, which fits into a register. The compiler makes
// that a jump. So the function stands where the hook stood, in ARCH_CALLER(), too, and no register
// is saved before the way is chosen.
#define GUARD_CALL(call) struct guard_call call = {.state = ARCH_CALLER()}

/* Takes the parentheses off a list, so that another entry may follow. */
#define HOOK_LIST(...) __VA_ARGS__

/*
 * guard_enter() for a thread that is not open: it has not begun, it is in a nested call, longjmp
 * left its guard set, or recording is stopped. NULL: do not record.
 */
struct thread *guard_enter_slow(struct guard_call *call);

/*
 * For the end of a block by a thread that guard_enter() has not entered, because recording was off
 * (toggle.h) and the thread has no slot. If the block was recorded, its end must be, too: enters
 * the thread, as guard_enter() does. NULL: the block was not recorded.
 */
struct thread *guard_enter_off_slow(struct guard_call *call, const void *block);

/* The same where it is known that the end must be recorded. */
struct thread *guard_begin_off_slow(struct guard_call *call);

/* Whether the thread is open: a call is recorded without further questions. Nearly always. */
static inline bool guard_is_open(const struct thread *thread)
{
	return likely(thread && thread->cursor && !thread->outer.sp);
}

/* Enters an open thread. caller: the hook's. guard_close() leaves. */
static inline void guard_open(struct thread *thread, struct arch_mark caller)
{
	arch_keep(&thread->outer, caller);
	compiler_barrier();
}

static inline void guard_close(struct thread *thread)
{
	compiler_barrier();
	thread->outer.sp = 0;
}

static inline __attribute__((always_inline)) struct thread *guard_enter(struct guard_call *call)
{
	struct thread *thread = thread_self;

	if (unlikely(!thread || !thread->cursor || thread->outer.sp))
		return guard_enter_slow(call);
	arch_keep(&thread->outer, arch_mark(&call->state));
	compiler_barrier();
	return thread;
}

static inline void guard_leave(struct thread *thread, const struct guard_call *call)
{
	if (likely(thread != NULL)) {
		compiler_barrier();
		arch_keep(&thread->outer, call->outer);
	} else if (unlikely(call->pending_in)) {
		call->pending_in->waiting = call->outer;
	}
}

#endif
