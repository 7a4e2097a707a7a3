#include "agent/hooks/guard.h"

#include "agent/event/allocator_code.h"
#include "agent/hooks/allocation.h"
#include "agent/life/process.h"
#include "agent/life/thread.h"
#include "agent/patch/patched.h"
#include "agent/record/modules.h"

#define NESTED_REACH 1024

/*
 * musl's calloc calls malloc, and has no unwind tables, so a walk from there finds nothing. In such
 * a C library the call counts as nested if the allocator makes it from just below the hook.
 */
static bool is_nested_unseen(const struct thread *thread, const struct guard_call *call)
{
	return !real.allocator_is_glibc && thread->outer.sp - call->state.sp < NESTED_REACH &&
	       allocator_code_holds(call->state.pc);
}

/* Whether it is a patched allocator that calls: what it calls in itself is a part of its call. */
static bool is_nested_in_patched(const struct thread *thread, uint64_t pc)
{
	return thread->patched &&
	       pc - thread->patched->start < thread->patched->end - thread->patched->start;
}

/*
 * Where the frame of a patched function cannot be found, its code has no unwind tables, or it was
 * left by longjmp. It is taken for the first where its allocator calls from just below the hook.
 * Of a call that is handed over nobody knows where its code lies.
 */
static bool is_nested_near_patched(const struct thread *thread, const struct guard_call *call)
{
	return call->state.sp < thread->outer.sp &&
	       thread->outer.sp - call->state.sp < NESTED_REACH && thread->patched &&
	       thread->patched->entry && is_nested_in_patched(thread, call->state.pc);
}

/*
 * The thread is in the middle of an event: a handler has interrupted the agent. The call's event
 * must wait, but for that of a call which is itself a part of one that waits.
 */
static void enter_waiting(struct thread *thread, struct guard_call *call)
{
	struct unwind_stack none;
	struct arch_mark waiting = thread->waiting;

	if (call->state.sp < waiting.sp &&
	    (is_nested_in_patched(thread, call->state.pc) ||
	     allocator_code_holds(call->state.pc)) &&
	    unwind_find_frame(&call->state, thread_bounds(thread, &none), waiting.sp) ==
		    UNWIND_FOUND) {
		call->nested_in = thread;
		return;
	}
	call->pending_in = thread;
	call->outer = waiting;
	arch_keep(&thread->waiting, arch_mark(&call->state));
}

/*
 * The guard is set. The hook that set it may still run further out on this stack, or was left
 * without a return. Only the stack itself can tell.
 */
static struct thread *enter_again(struct thread *thread, struct guard_call *call)
{
	struct unwind_stack none;

	if (thread->outer.sp == THREAD_AT_WORK) {
		enter_waiting(thread, call);
		return NULL;
	}
	switch (unwind_find_frame(&call->state, thread_bounds(thread, &none), thread->outer.sp)) {
	case UNWIND_NOT_FOUND:
		if (!thread->busy &&
		    (is_nested_unseen(thread, call) || is_nested_near_patched(thread, call))) {
			call->nested_in = thread;
			return NULL;
		}
		thread->patched = NULL;
		if (thread->busy) {
			// A signal handler left the agent by longjmp, perhaps in the middle of a
			// write.
			// counted first: see live/live_reclaim.c
			process_count_loss(TRACE_LOSS_INTERRUPTED);
			compiler_barrier();
			thread->busy = 0;
			thread->resync = 1;
			thread->pending.used = 0;
			thread->waiting.sp = 0;
			if (thread->forked)
				thread->cursor = NULL; // begins anew
		}
		break;
	case UNWIND_FOUND:
		if (thread->busy) {
			enter_waiting(thread, call);
			return NULL;
		}
		if (is_nested_in_patched(thread, call->state.pc) ||
		    allocator_code_holds(call->state.pc)) {
			nesting_keep_slow(&thread->nesting, &call->state, thread->outer.sp,
					  __atomic_load_n(&process->epoch, __ATOMIC_ACQUIRE));
			call->nested_in = thread;
			return NULL;
		}
		// A new_handler, which allocates for itself.
		call->outer = thread->outer;
		thread->within = 1;
		break;
	case UNWIND_FOUND_ACROSS_SIGNAL:
		if (thread->busy) {
			enter_waiting(thread, call);
			return NULL;
		}
		// A handler that interrupted the allocator allocates for itself.
		call->outer = thread->outer;
		thread->within = 1;
		break;
	}
	return thread;
}

never_inline struct thread *guard_begin_off_slow(struct guard_call *call)
{
	struct thread *thread = thread_begin_slow(true);

	if (!thread || thread->outer.sp)
		return NULL;
	arch_keep(&thread->outer, arch_mark(&call->state));
	return thread;
}

never_inline struct thread *guard_enter_off_slow(struct guard_call *call, const void *block)
{
	if (!toggle_is_watched() || process_state() != PROCESS_RECORDING ||
	    !(admission_has(block) ||
	      (allocation_is_loaders(call->state.pc) && modules_has(block))))
		return NULL;
	return guard_begin_off_slow(call);
}

never_inline struct thread *guard_enter_slow(struct guard_call *call)
{
	struct thread *thread = thread_self;

	// operator new calls malloc: these are half of a C++ program's calls.
	if (likely(thread && thread->cursor && !thread->busy &&
		   nesting_holds(&thread->nesting, &call->state, thread->outer.sp,
				 __atomic_load_n(&process->epoch, __ATOMIC_ACQUIRE)))) {
		call->nested_in = thread;
		return NULL;
	}
	// Recording is off. A thread that records asks admission.h; any other does not begin now.
	if (toggle_is_off() && !(thread && (thread->cursor || thread->busy)) &&
	    !process_settle_toggle_slow())
		return NULL;
	switch (process_state()) {
	case PROCESS_OFF:
		return NULL;
	case PROCESS_STOPPED:
		process_count_loss(process->loss_if_stopped);
		return NULL;
	default:
		break;
	}
	// While the agent works the thread may have no slot for a moment: nothing is begun then.
	if (!thread || (!thread->cursor && !thread->busy))
		thread = thread_begin_slow(true);
	if (thread && thread->outer.sp)
		thread = enter_again(thread, call);
	// A handler has left the interrupted write, in a child that had kept the thread: it begins
	// anew.
	if (thread && !thread->cursor)
		thread = thread_begin_slow(true);
	if (thread)
		arch_keep(&thread->outer, arch_mark(&call->state));
	return thread;
}
