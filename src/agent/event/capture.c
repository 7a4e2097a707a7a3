#include "agent/event/capture.h"

#include "agent/event/compare.h"
#include "agent/ground/own_code.h"

never_inline void capture_count_incomplete_slow(enum unwind_end end)
{
	if (end == UNWIND_BROKEN)
		process_count_loss(TRACE_LOSS_BROKEN_STACKS);
	else if (end == UNWIND_TRUNCATED &&
		 config.value[SETTING_BACKTRACE] == SETTING_BACKTRACE_FULL)
		process_count_loss(TRACE_LOSS_TRUNCATED_STACKS);
}

never_inline bool capture_script_slow(struct thread *thread, const struct unwind_state *state)
{
	const struct script_thread here = {
		.stack = &thread->stack,
		.bounds = &thread->bounds,
		.first = thread->tid == process->pid,
	};
	bool broken = false;
	enum unwind_end end = script_stack_capture(&thread->script, &here, state, &broken);

	if (end == UNWIND_REFUSED)
		return false;
	capture_count_incomplete_slow(broken ? UNWIND_BROKEN : end);
	return true;
}

/* Captures by unwind_capture(), which remembers nothing. false: the event is lost. */
static never_inline bool capture_plain_slow(struct thread *thread, const struct unwind_state *state)
{
	size_t count = 0;
	enum unwind_end end = unwind_capture(state, &thread->bounds, thread->frames,
					     thread_depth_limit(), &count);

	if (unlikely(end != UNWIND_COMPLETE))
		thread->frames[count++] =
			end == UNWIND_TRUNCATED ? TRACE_PC_TRUNCATED : TRACE_PC_BROKEN;
	capture_count_incomplete_slow(end);
	if (thread->within || thread->passing) {
		thread->within = 0;
		count = own_code_strip(thread->frames, (uint32_t)count);
	}
	if (stack_cache_set(&thread->stack, thread->frames, count))
		return true;
	process_count_loss(TRACE_LOSS_NO_MEMORY);
	return false;
}

never_inline bool capture_slow(struct thread *thread, const struct unwind_state *state)
{
	uint32_t epoch = __atomic_load_n(&process->epoch, __ATOMIC_ACQUIRE);

	// A module may have been unloaded, so that a pc means other code. Or pages of the stack are
	// gone.
	if (epoch != thread->epoch || thread->resync) {
		stack_cache_clear(&thread->stack);
		script_stack_clear(thread->script);
		thread->bounds = (struct unwind_stack){0};
		thread->epoch = epoch;
	}
	if (thread->within || thread->passing)
		return capture_plain_slow(thread, state);
	if (config.value[SETTING_UNWINDER] == SETTING_UNWINDER_FAST)
		return capture_cached(thread, state) || capture_plain_slow(thread, state);
	script_stack_clear(thread->script);
	return (script_frames && capture_script_slow(thread, state)) ||
	       capture_plain_slow(thread, state);
}

bool capture(struct thread *thread, const struct unwind_state *state)
{
	bool plain = thread->resync || thread->within || thread->passing ||
		     config.value[SETTING_UNWINDER] != SETTING_UNWINDER_FAST ||
		     __atomic_load_n(&process->epoch, __ATOMIC_ACQUIRE) != thread->epoch;

	if (unlikely(plain) || unlikely(!capture_cached(thread, state))) {
		if (!capture_slow(thread, state))
			return false;
		thread->resync = 0;
	}
	compare_stack(thread, state);
	return true;
}
