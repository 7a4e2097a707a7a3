#include "agent/allocation.h"

#include "agent/process.h"

never_inline void allocation_measure_slow(struct thread *thread, void *block, struct event *event)
{
	if (!real.allocator_is_glibc && real.malloc_usable_size &&
	    (event->operation < TRACE_OP_NEW || thread->nested_block == block))
		event->slack = real.malloc_usable_size(block) - event->size;
	thread->nested_block = NULL;
}

never_inline void allocation_pending_slow(struct guard_call *call, const struct event *event,
					  void *block)
{
	struct event measured = *event;

	if (!block)
		return;
	measured.ticks = clock_ticks();
	allocation_measure(call->pending_in, block, &measured);
	pending_add(call->pending_in, &measured, &call->state);
}

never_inline void allocation_failed_slow(struct thread *thread, const struct guard_call *call,
					 enum trace_op operation, uint64_t size)
{
	struct record record = {
		.kind = TRACE_RECORD_FAILED, .has_time = true, .ticks = clock_ticks()};

	record_add(&record, operation);
	record_add(&record, size);
	record_write_here(thread, &record, &call->state);
}

/* What a realloc came to be: an allocation, a free, a move, or a failure. */
static enum trace_op outcome(enum trace_op operation, const void *old, const void *block,
			     uint64_t size)
{
	if (!old)
		return operation == TRACE_OP_REALLOC ? TRACE_OP_REALLOC_NULL
						     : TRACE_OP_REALLOCARRAY_NULL;
	// glibc frees and returns NULL.
	return block || size ? operation : TRACE_OP_FREE;
}

void allocation_resized(struct thread *thread, struct guard_call *call, enum trace_op operation,
			void *old, void *block, uint64_t size, uint64_t start)
{
	uint64_t end = clock_ticks();
	struct event event = {
		.operation = outcome(operation, old, block, size),
		.ticks = old ? start : end,
		.duration = end - start,
		.old_address = (uint64_t)old,
		.address = (uint64_t)block,
		.size = size,
	};
	bool failed = !block && event.operation != TRACE_OP_FREE;

	if (event.operation == TRACE_OP_FREE)
		event.address = (uint64_t)old;
	if (!thread) {
		if (call->nested_in)
			call->nested_in->nested_block = block;
		if (call->pending_in && !failed) {
			if (event.operation != TRACE_OP_FREE)
				allocation_measure(call->pending_in, block, &event);
			pending_add(call->pending_in, &event,
				    event.operation == TRACE_OP_FREE ? NULL : &call->state);
		}
		return;
	}
	guard_begin_record(thread);
	if (failed) {
		allocation_failed_slow(thread, call, event.operation, size);
	} else if (event.operation == TRACE_OP_FREE) {
		event_write_plain(thread, &event);
	} else {
		allocation_measure(thread, block, &event);
		event_write_here(thread, &event, &call->state);
	}
	guard_end_record(thread);
	guard_leave(thread, call);
}
