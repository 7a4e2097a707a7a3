/*
 * Records what an allocation hook did; the common case is inline. thread: what guard_enter()
 * returned; NULL: nothing is recorded.
 */
#ifndef MALLOW_AGENT_HOOKS_ALLOCATION_H
#define MALLOW_AGENT_HOOKS_ALLOCATION_H

#include "agent/arch/machine.h"
#include "agent/event/sink.h"
#include "agent/ground/clock.h"
#include "agent/ground/config.h"
#include "agent/ground/next_functions.h"
#include "agent/hooks/guard.h"
#include "agent/record/event_write.h"
#include "agent/record/fact_record.h"
#include "agent/record/modules.h"

/*
 * The time of an event of this thread, which is in a hook, for a block of size bytes at address
 * (event_clock.h). size 0: the block ends.
 */
static inline __attribute__((always_inline)) uint64_t
allocation_ticks(struct thread *thread, uint64_t address, uint64_t size)
{
	struct event_clock *clock = &thread->clock;
	uint16_t owner = __atomic_load_n(event_clock_owner(address), __ATOMIC_RELAXED);

	if (likely(clock->left &&
		   ((owner == clock->owner && size < EVENT_CLOCK_LARGE) ||
		    (owner == EVENT_CLOCK_EVERYBODY &&
		     __atomic_load_n(&process->lone_thread, __ATOMIC_ACQUIRE) == thread))) &&
	    event_clock_is_fresh(clock)) {
		clock->left--;
		return clock->ticks;
	}
	if (config_is_live()) // the live table takes times of its own where it needs any
		return 0;
	return event_clock_read_slow(thread, address, size);
}

/*
 * The same where thread may be NULL. Then the event waits in call->pending_in, and gets a time of
 * that thread's clock. 0: no thread records it.
 */
static inline uint64_t allocation_ticks_for(struct thread *thread, const struct guard_call *call,
					    uint64_t address, uint64_t size)
{
	if (likely(thread != NULL))
		return allocation_ticks(thread, address, size);
	return call->pending_in ? event_clock_read_slow(call->pending_in, address, size) : 0;
}

/* Records that an allocation failed. Leaves errno as it is. */
void allocation_failed_slow(struct thread *thread, const struct unwind_state *state,
			    enum trace_op operation, uint64_t size);

/* Puts the block's usable size and heap flags into the event. */
void allocation_measure_slow(struct thread *thread, enum trace_op operation, void *block,
			     struct event *event);

/*
 * The same, from what glibc keeps in front of a block: the size of its chunk, with flags in the low
 * bits (malloc/malloc.c, "malloc_chunk": 2 mmapped, 4 not in the main arena). Only for blocks of
 * glibc's own malloc. With memory tagging that word has no tag, as event->address.
 */
static inline void allocation_measure_glibc(struct event *event)
{
	uint64_t head = ((const uintptr_t *)(uintptr_t)event->address)[-1];

	event->slack = (head & ~7ull) - sizeof(uintptr_t) * (head & 2 ? 2 : 1) - event->size;
	event->heap_flags =
		(head & 2 ? TRACE_HEAP_MMAPPED : 0) | (head & 4 ? TRACE_HEAP_NON_MAIN_ARENA : 0);
}

/*
 * Whether the allocator itself returned the block. An operator new may carve its blocks out of
 * larger ones; it did not if the malloc that it called last returned this very block.
 */
static inline bool allocation_is_allocators(const struct thread *thread, enum trace_op operation,
					    const void *block)
{
	return operation < TRACE_OP_NEW || operation > TRACE_OP_LAST_ALLOCATION ||
	       thread->nested_block == block;
}

/* operation: the event's, by value, so that a constant leaves no test in the code. */
static inline void allocation_measure(struct thread *thread, enum trace_op operation, void *block,
				      struct event *event)
{
	if (likely(real.allocator_is_glibc && allocation_is_allocators(thread, operation, block))) {
		allocation_measure_glibc(event);
		thread->nested_block = NULL;
	} else {
		allocation_measure_slow(thread, operation, block, event);
	}
}

/*
 * Whether another hook has recorded the same block. An operator new of the program's own may call
 * malloc through code that is not the allocator's. Then the hooks of both are asked to record the
 * block. The first of them does: of an allocation the inner hook, of a free the outer one.
 */
static inline bool allocation_is_twin(struct thread *thread, const struct guard_call *call,
				      enum trace_op operation, void *block)
{
	bool allocates = operation <= TRACE_OP_LAST_ALLOCATION;
	bool is_operator = (allocates && operation >= TRACE_OP_NEW) ||
			   operation == TRACE_OP_DELETE || operation == TRACE_OP_DELETE_ARRAY;

	if (likely(!call->outer.sp && !is_operator))
		return false;
	// Two marks, because a signal handler may allocate and free a block of its own within a
	// hook.
	if (allocates && !call->outer.sp)
		return thread->inner_block == block;
	if (!allocates && call->outer.sp)
		return thread->outer_block == block;
	if (allocates)
		thread->inner_block = block;
	else
		thread->outer_block = block;
	return false;
}

/* After an allocation by a thread that was not open: nested, pending, or not recorded. */
void allocation_done_slow(struct thread *thread, struct guard_call *call, enum trace_op operation,
			  void *block, uint64_t size, uint64_t alignment);

/* After an allocation by a thread that was open. */
static inline __attribute__((always_inline)) void
allocation_done(struct thread *thread, const struct unwind_state *state, enum trace_op operation,
		void *block, uint64_t size, uint64_t alignment)
{
	struct event event = {
		.operation = operation,
		.ticks = allocation_ticks(thread, arch_address(block), size),
		.address = arch_address(block),
		.size = size,
		.alignment = alignment,
	};

	thread_begin_record(thread);
	if (unlikely(block == NULL)) {
		allocation_failed_slow(thread, state, operation, size);
	} else if (operation < TRACE_OP_NEW || thread->inner_block != block) {
		allocation_measure(thread, operation, block, &event);
		event_write_here(thread, &event, state);
	}
	thread_end_record(thread);
}

/* Before a realloc. Returns the time of its start. *thread may begin to record here. */
static inline __attribute__((always_inline)) uint64_t
allocation_resize_begins(struct thread **thread, struct guard_call *call, const void *old)
{
	struct thread *recorder = *thread ? *thread : call->pending_in;

	if (unlikely(!recorder) && !call->nested_in)
		recorder = *thread = guard_enter_off_slow(call, old);
	if (recorder && unlikely(recorder->selective))
		call->old = sink->realloc_begin(recorder, old);
	return allocation_ticks_for(*thread, call, arch_address(old), 0);
}

/* After a realloc. old may be NULL; block is what it returned. */
void allocation_resized(struct thread *thread, struct guard_call *call, enum trace_op operation,
			void *old, void *block, uint64_t size, uint64_t start);

/* Before a real free that may be nested, pending, or not recorded at all. */
void allocation_ends_slow(struct thread *thread, struct guard_call *call, enum trace_op operation,
			  void *block);

/* Before a free by a thread that was open. */
static inline void allocation_ends(struct thread *thread, enum trace_op operation, void *block)
{
	uint64_t address = arch_address(block), ticks = allocation_ticks(thread, address, 0);

	thread_begin_record(thread);
	event_write_free(thread, operation, ticks, address);
	thread_end_record(thread);
}

/* Whether the loader calls. It frees the description of a module when that is unloaded. */
static inline bool allocation_is_loaders(uint64_t pc)
{
	return unlikely(pc - real.loader_start < real.loader_size);
}

/* After the real free by the loader. */
void allocation_freed_by_loader_slow(struct thread *thread, const void *block);

#endif
