/*
 * Recording what an allocation hook did. Inline as far as the common case goes; thread is what
 * guard_enter() gave, NULL where nothing is recorded.
 */
#ifndef MALLOW_AGENT_ALLOCATION_H
#define MALLOW_AGENT_ALLOCATION_H

#include "agent/clock.h"
#include "agent/event.h"
#include "agent/guard.h"
#include "agent/modules.h"
#include "agent/real.h"
#include "agent/record.h"

/* Not now: the event, its time left open, goes to the pending ones. */
void allocation_pending_slow(struct guard_call *call, const struct event *event, void *block);

/* The allocator said no: recorded as such, errno untouched. */
void allocation_failed_slow(struct thread *thread, const struct guard_call *call,
			    enum trace_op operation, uint64_t size);

/* The block's usable size and heap flags into the event. */
void allocation_measure_slow(struct thread *thread, void *block, struct event *event);

/*
 * glibc keeps a chunk's size in front of the block, its low bits being flags (malloc/malloc.c,
 * "malloc_chunk": 2 mmapped, 4 not in the main arena). Only for blocks of glibc's own malloc.
 */
static inline void allocation_measure_glibc(const void *block, struct event *event)
{
	uint64_t head = ((const uint64_t *)block)[-1];

	event->slack = (head & ~7ull) - (head & 2 ? 16 : 8) - event->size;
	event->heap_flags =
		(head & 2 ? TRACE_HEAP_MMAPPED : 0) | (head & 4 ? TRACE_HEAP_NON_MAIN_ARENA : 0);
}

static inline void allocation_measure(struct thread *thread, void *block, struct event *event)
{
	// An operator may carve blocks out of larger ones: glibc's header is read only where the
	// malloc that it called returned the very same block.
	if (likely(real.allocator_is_glibc &&
		   (event->operation < TRACE_OP_NEW || thread->nested_block == block))) {
		allocation_measure_glibc(block, event);
		thread->nested_block = NULL;
	} else {
		allocation_measure_slow(thread, block, event);
	}
}

/*
 * An operator of the program's own may hand on to malloc through code that is not the
 * allocator's, where both are recorded. The same block is the same event: once is enough. Of an
 * allocation the inner call comes first, of a free the outer one.
 */
static inline bool allocation_is_twin(struct thread *thread, const struct guard_call *call,
				      enum trace_op operation, void *block)
{
	bool allocates = operation <= TRACE_OP_LAST_ALLOCATION;
	bool is_operator = (allocates && operation >= TRACE_OP_NEW) ||
			   operation == TRACE_OP_DELETE || operation == TRACE_OP_DELETE_ARRAY;

	if (likely(!call->outer && !is_operator))
		return false;
	if (allocates != (call->outer != 0))
		return thread->inner_block == block;
	thread->inner_block = block;
	return false;
}

static inline __attribute__((always_inline)) void
allocation_done(struct thread *thread, struct guard_call *call, enum trace_op operation,
		void *block, uint64_t size, uint64_t alignment)
{
	struct event event = {
		.operation = operation,
		.address = (uint64_t)block,
		.size = size,
		.alignment = alignment,
	};

	if (unlikely(!thread)) {
		if (call->nested_in)
			call->nested_in->nested_block = block;
		else if (call->pending_in)
			allocation_pending_slow(call, &event, block);
		return;
	}
	event.ticks = clock_ticks();
	guard_begin_record(thread);
	if (likely(block != NULL)) {
		allocation_measure(thread, block, &event);
		if (unlikely(allocation_is_twin(thread, call, operation, block)))
			goto done;
		event_write_here(thread, &event, &call->state);
	} else {
		allocation_failed_slow(thread, call, operation, size);
	}
done:
	guard_end_record(thread);
	guard_leave(thread, call);
}

/* realloc: old may be NULL, block is what it returned. */
void allocation_resized(struct thread *thread, struct guard_call *call, enum trace_op operation,
			void *old, void *block, uint64_t size, uint64_t start);

/* Before the real free. */
static inline __attribute__((always_inline)) void allocation_ends(struct thread *thread,
								  struct guard_call *call,
								  enum trace_op operation,
								  void *block)
{
	struct event event = {.operation = operation, .address = (uint64_t)block};

	if (unlikely(!block || (!thread && !call->pending_in)))
		return;
	event.ticks = clock_ticks();
	if (unlikely(!thread)) {
		pending_add(call->pending_in, &event, NULL);
		return;
	}
	if (unlikely(allocation_is_twin(thread, call, operation, block)))
		return;
	guard_begin_record(thread);
	event_write_plain(thread, &event);
	guard_end_record(thread);
}

/* After it. The loader frees the description of a module when that is unloaded. */
static inline __attribute__((always_inline)) void
allocation_freed(struct thread *thread, struct guard_call *call, const void *block)
{
	if (unlikely(thread &&
		     call->state.pc - real.loader_start < real.loader_end - real.loader_start)) {
		guard_begin_record(thread);
		modules_loader_freed(thread, block);
		guard_end_record(thread);
	}
	guard_leave(thread, call);
}

#endif
