#include "agent/hooks/allocation.h"

#include "agent/event/sink.h"
#include "agent/patch/patch.h"
#include "agent/record/fact_here.h"

never_inline void allocation_measure_slow(struct thread *thread, enum trace_op operation,
					  void *block, struct event *event)
{
	if (!real.allocator_is_glibc && real.malloc_usable_size &&
	    allocation_is_allocators(thread, operation, block))
		event->slack = real.malloc_usable_size(block) - event->size;
	thread->nested_block = NULL;
}

/* The event must wait: dates it and puts it into the queue. */
static void add_pending(struct guard_call *call, const struct event *event, void *block)
{
	struct event measured = *event;

	if (!block)
		return;
	measured.ticks = event_clock_read_slow(call->pending_in, event->address, event->size);
	if (!call->patched)
		allocation_measure(call->pending_in, measured.operation, block, &measured);
	handler_queue_add(call->pending_in, &measured, &call->state);
}

never_inline void allocation_done_slow(struct thread *thread, struct guard_call *call,
				       enum trace_op operation, void *block, uint64_t size,
				       uint64_t alignment)
{
	struct event event = {
		.operation = operation,
		.address = arch_address(block),
		.size = size,
		.alignment = alignment,
	};

	// operator new's malloc comes here, so it does nothing more than it needs.
	if (!thread) {
		if (call->nested_in)
			call->nested_in->nested_block = block;
		else if (call->pending_in)
			add_pending(call, &event, block);
		else if (unlikely(toggle_is_watched()))
			admission_passes(block);
		guard_leave(NULL, call);
		return;
	}
	event.ticks = allocation_ticks(thread, event.address, size);
	thread_begin_record(thread);
	if (!block) {
		allocation_failed_slow(thread, &call->state, operation, size);
	} else {
		if (!call->patched)
			allocation_measure(thread, operation, block, &event);
		if (!allocation_is_twin(thread, call, operation, block))
			event_write_here(thread, &event, &call->state);
	}
	thread_end_record(thread);
	guard_leave(thread, call);
}

/*
 * Recording was off, or still is, and the thread does not record, but for the end of such a block.
 * Leaves the guard, too, since the hook has no thread.
 */
static never_inline void ends_off(struct guard_call *call, enum trace_op operation, void *block)
{
	struct thread *thread = guard_enter_off_slow(call, block);

	if (!thread)
		return;
	allocation_ends(thread, operation, block);
	if (allocation_is_loaders(call->state.pc))
		allocation_freed_by_loader_slow(thread, block);
	guard_leave(thread, call);
}

never_inline void allocation_ends_slow(struct thread *thread, struct guard_call *call,
				       enum trace_op operation, void *block)
{
	struct event event = {.operation = operation, .address = arch_address(block)};

	if (!block)
		return;
	if (unlikely(toggle_is_watched()) && !thread && !call->pending_in && !call->nested_in)
		return ends_off(call, operation, block);
	if (!thread && !call->pending_in)
		return;
	event.ticks = allocation_ticks_for(thread, call, event.address, 0);
	if (!thread) {
		handler_queue_add(call->pending_in, &event, NULL);
		return;
	}
	if (allocation_is_twin(thread, call, operation, block))
		return;
	thread_begin_record(thread);
	event_write_free(thread, operation, event.ticks, event.address);
	thread_end_record(thread);
}

never_inline void allocation_freed_by_loader_slow(struct thread *thread, const void *block)
{
	patch_forget(block);
	thread_begin_record(thread);
	modules_loader_freed(thread, block);
	thread_end_record(thread);
}

never_inline void allocation_failed_slow(struct thread *thread, const struct unwind_state *state,
					 enum trace_op operation, uint64_t size)
{
	struct fact_record record = {
		.kind = TRACE_RECORD_FAILED, .has_time = true, .ticks = clock_ticks()};

	fact_record_add(&record, operation);
	fact_record_add(&record, size);
	fact_here_write(thread, &record, state);
}

/* What a realloc turned out to be: an allocation, a free, a move, or a failure. */
static enum trace_op outcome(enum trace_op operation, const void *old, const void *block,
			     uint64_t size)
{
	if (!old)
		return operation == TRACE_OP_REALLOC ? TRACE_OP_REALLOC_NULL
						     : TRACE_OP_REALLOCARRAY_NULL;
	// realloc to size 0: glibc frees the block and returns NULL.
	return block || size ? operation : TRACE_OP_FREE;
}

/* A realloc in a handler that interrupted the agent: its event waits. */
static void resized_pending(struct guard_call *call, struct event *event, void *block)
{
	struct thread *thread = call->pending_in;

	if (call->old && !sink->realloc_end(thread, call->old, event, true))
		return;
	if (event->operation != TRACE_OP_FREE && !call->patched)
		allocation_measure(thread, event->operation, block, event);
	handler_queue_add(thread, event, event->operation == TRACE_OP_FREE ? NULL : &call->state);
}

void allocation_resized(struct thread *thread, struct guard_call *call, enum trace_op operation,
			void *old, void *block, uint64_t size, uint64_t start)
{
	uint64_t end = allocation_ticks_for(thread, call, arch_address(block), size);
	struct event event = {
		.operation = outcome(operation, old, block, size),
		.ticks = old ? start : end,
		.duration = end - start,
		.old_address = arch_address(old),
		.address = arch_address(block),
		.size = size,
		// Before the first stop, if no setting announced one (toggle.h), all blocks are
		// recorded.
		.old_recorded = call->old != SINK_UNKNOWN,
	};
	bool failed = !block && event.operation != TRACE_OP_FREE;

	if (event.operation == TRACE_OP_FREE)
		event.address = event.old_address;
	if (failed && old && unlikely(call->old))
		sink->realloc_fail(thread ? thread : call->pending_in, old, call->old);
	if (!thread) {
		if (call->nested_in)
			call->nested_in->nested_block = block;
		if (call->pending_in && !failed)
			resized_pending(call, &event, block);
		if (unlikely(toggle_is_watched()) && !call->nested_in && !call->pending_in)
			admission_passes(block);
		guard_leave(NULL, call);
		return;
	}
	thread_begin_record(thread);
	if (failed) {
		allocation_failed_slow(thread, &call->state, event.operation, size);
	} else if (unlikely(call->old) && !sink->realloc_end(thread, call->old, &event, false)) {
		// no event is left
	} else if (event.operation == TRACE_OP_FREE) {
		event_write_end(thread, &event, &call->state);
	} else {
		if (!call->patched)
			allocation_measure(thread, event.operation, block, &event);
		event_write_here(thread, &event, &call->state);
	}
	thread_end_record(thread);
	guard_leave(thread, call);
}
