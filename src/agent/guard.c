#include "agent/guard.h"

#include "agent/process.h"

/*
 * The guard is set: by a hook that is still running further out on this stack, or by one that was
 * left without returning. Only the stack itself can tell.
 */
static struct thread *enter_again(struct thread *thread, struct guard_call *call)
{
	switch (unwind_find_frame(&call->state, &thread->bounds, thread->outer)) {
	case UNWIND_NOT_FOUND:
		if (thread->busy) {
			// A signal handler left the agent by longjmp, perhaps in the middle of a write.
			thread->busy = 0;
			thread->resync = 1;
			thread->pending.used = 0;
			process_count_loss(TRACE_LOSS_INTERRUPTED);
		}
		break;
	case UNWIND_FOUND:
		if (!thread->busy) {
			call->nested_in = thread;
			return NULL;
		}
		call->pending_in = thread;
		return NULL;
	case UNWIND_FOUND_ACROSS_SIGNAL:
		if (thread->busy) {
			call->pending_in = thread;
			return NULL;
		}
		// A handler that interrupted the allocator: an allocation of its own.
		call->outer = thread->outer;
		break;
	}
	thread->outer = call->state.sp;
	return thread;
}

never_inline struct thread *guard_enter_slow(struct guard_call *call)
{
	struct thread *thread = thread_self;

	switch (process_state()) {
	case PROCESS_OFF:
		return NULL;
	case PROCESS_STOPPED:
		process_count_loss(process->loss_if_stopped);
		return NULL;
	default:
		break;
	}
	if (!thread || !thread->cursor) {
		// Without a slot while it is at work: its own slow path, which a handler interrupted.
		if (thread && thread->busy && thread->outer &&
		    unwind_find_frame(&call->state, &thread->bounds, thread->outer) !=
			    UNWIND_NOT_FOUND)
			return NULL;
		thread = thread_begin_slow();
		if (!thread)
			return NULL;
	}
	if (thread->outer)
		return enter_again(thread, call);
	thread->outer = call->state.sp;
	return thread;
}
