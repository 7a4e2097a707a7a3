/*
 * What every recording hook does around the real function: find the thread, tell the outermost
 * call of a nest, and let the agent itself be interrupted. See event/thread.h for the idea.
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
	uint64_t outer;            /* to restore when leaving */
	struct thread *nested_in;  /* not recorded: part of this thread's outer hook */
	struct thread *pending_in; /* to be recorded later: it interrupted the agent */
	uint32_t old;              /* enum sink_old: the block that a realloc is about to end */
};

// The hooks are compiled with frame pointers, by which they know their callers.
//
// Those that are called most do nothing themselves but jump: each calls, in last place, another
// never_inline function with its own arguments and one more, for which there is a register. So that
// one stands where the hook stood, in ARCH_CALLER(), too, and nothing is saved before it is known
// what for.
#define GUARD_CALL(call) struct guard_call call = {.state = ARCH_CALLER()}

/* A list in parentheses without them: another entry may follow. */
#define HOOK_LIST(...) __VA_ARGS__

/* Threads not begun, nested calls, leftovers, stopped recordings. NULL: do not record. */
struct thread *guard_enter_slow(struct guard_call *call);

/*
 * It was off (toggle.h) when guard_enter() looked, by now it may be on, and the thread has no slot:
 * it is not entered. But the end of a recorded block is recorded all the same. The thread is
 * entered then, as by guard_enter(); NULL: no such block.
 */
struct thread *guard_enter_off_slow(struct guard_call *call, const void *block);

/* The same of what is known to be wanted. */
struct thread *guard_begin_off_slow(struct guard_call *call);

/* Whether a call is to be recorded with nothing to look into: nearly each. */
static inline bool guard_is_open(const struct thread *thread)
{
	return likely(thread && thread->cursor && !thread->outer);
}

/* Then enters, by the hook's caller's stack pointer. Left by guard_close(). */
static inline void guard_open(struct thread *thread, uint64_t sp)
{
	thread->outer = sp;
	compiler_barrier();
}

static inline void guard_close(struct thread *thread)
{
	compiler_barrier();
	thread->outer = 0;
}

static inline __attribute__((always_inline)) struct thread *guard_enter(struct guard_call *call)
{
	struct thread *thread = thread_self;

	if (unlikely(!thread || !thread->cursor || thread->outer))
		return guard_enter_slow(call);
	thread->outer = call->state.sp;
	compiler_barrier();
	return thread;
}

static inline void guard_leave(struct thread *thread, const struct guard_call *call)
{
	if (likely(thread != NULL)) {
		compiler_barrier();
		thread->outer = call->outer;
	}
}

#endif
