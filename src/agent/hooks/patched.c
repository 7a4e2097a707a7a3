/*
 * The hooks of patched functions (patch/patch.h), called by arch/patched_entry.h with the
 * function's arguments, and the function's cell as the last. What the function does, and which
 * argument is which, is in the list of allocators' functions.
 *
 * These work as the hooks of malloc.c do, with two differences. The blocks are another allocator's:
 * no usable size is known. And what the allocator calls in itself may come to other hooks; that is
 * a part of its call (thread->patched, guard.c). A block that both would record, of a malloc of the
 * program's own in front of the C library's, is recorded once, as with C++'s operators.
 */
#include "agent/ground/libc.h"
#include "agent/hooks/allocation.h"
#include "agent/hooks/hooks.h"
#include "agent/live/live_hook.h"
#include "agent/patch/patch.h"
#include "agent/patch/patched.h"

#define ARGUMENTS uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f
#define PASSED    a, b, c, d, e, f

/* An argument by its number, mostly the first. */
static inline uint64_t argument(unsigned int number, ARGUMENTS)
{
	return likely(number == 1) ? a
	       : number == 2       ? b
	       : number == 3       ? c
	       : number == 4       ? d
	       : number == 5       ? e
				   : f;
}

#define ARGUMENT(number) argument(number, PASSED)

/* The bytes that the function is asked for; the maximum if that overflows. */
static inline uint64_t size_in(const struct allocator_function *function, ARGUMENTS)
{
	uint64_t bytes = ARGUMENT(function->size);

	if (unlikely(function->times) &&
	    __builtin_mul_overflow(bytes, ARGUMENT(function->times), &bytes))
		return UINT64_MAX;
	return bytes;
}

static inline uint64_t alignment_in(const struct allocator_function *function, ARGUMENTS)
{
	return function->alignment ? ARGUMENT(function->alignment) : 0;
}

/* The block that the function has made. NULL: none. */
static inline void *block_of(const struct allocator_function *function, uint64_t a, uint64_t result)
{
	if (unlikely(function->stores))
		return result ? NULL : *(void **)a;
	return (void *)result;
}

/* Makes the block. *block: what is recorded. */
static inline uint64_t allocate(const struct patched *patched, ARGUMENTS, void **block)
{
	uint64_t result = patched_behind_of(patched)(PASSED);

	*block = block_of(patched->function, a, result);
	if (unlikely(config.value[SETTING_ZERO_MEMORY]) && *block)
		memset(*block, 0, size_in(patched->function, PASSED));
	return result;
}

static never_inline uint64_t allocates_recorded(ARGUMENTS, const struct patched *patched)
{
	const struct allocator_function *function = patched->function;
	struct unwind_state state = ARCH_PATCHED_CALLER();
	struct thread *thread = thread_self;
	struct event event = {.operation = patched->operation};
	void *block;
	uint64_t result;

	guard_open(thread, state.sp);
	thread->patched = patched;
	thread->inner_block = NULL;
	result = allocate(patched, PASSED, &block);
	event.address = (uint64_t)block;
	event.size = size_in(function, PASSED);
	event.alignment = alignment_in(function, PASSED);
	event.ticks = allocation_ticks(thread, event.address, event.size);
	thread_begin_record(thread);
	if (unlikely(!block))
		allocation_failed_slow(thread, &state, patched->operation, event.size);
	else if (thread->inner_block != block)
		event_write_here(thread, &event, &state);
	thread_end_record(thread);
	thread->patched = NULL;
	guard_close(thread);
	return result;
}

static never_inline uint64_t allocates_live(ARGUMENTS, const struct patched *patched)
{
	struct thread *thread = thread_self;
	void *block;
	uint64_t result;

	guard_open(thread, ARCH_PATCHED_CALLER().sp);
	thread->patched = patched;
	thread->inner_block = NULL;
	admission_hold(&thread->admission);
	result = allocate(patched, PASSED, &block);
	live_allocates_here(thread, ARCH_PATCHED_CALLER().sp,
			    thread->inner_block != block ? block : NULL,
			    size_in(patched->function, PASSED));
	thread->patched = NULL;
	guard_close(thread);
	return result;
}

/* Sets the thread's function for a call that is recorded by the slow way. Returns what it was. */
static const struct patched *enter(struct thread *thread, const struct patched *patched)
{
	const struct patched *outer = thread ? thread->patched : NULL;

	if (thread) {
		thread->patched = patched;
		thread->inner_block = NULL;
	}
	return outer;
}

static never_inline uint64_t allocates_otherwise(ARGUMENTS, const struct patched *patched)
{
	const struct allocator_function *function = patched->function;
	const struct patched *outer;
	struct thread *thread;
	void *block;
	uint64_t result;

	struct guard_call call = {.state = ARCH_PATCHED_CALLER()};

	call.patched = true;
	hooks_resolve();
	thread = guard_enter(&call);
	outer = enter(thread, patched);
	if (thread)
		admission_hold(&thread->admission);
	result = allocate(patched, PASSED, &block);
	if (thread)
		thread->patched = outer;
	allocation_done_slow(thread, &call, patched->operation, block, size_in(function, PASSED),
			     alignment_in(function, PASSED));
	return result;
}

static uint64_t hook_allocates(ARGUMENTS, const struct patched *patched)
{
	if (!guard_is_open(thread_self))
		return allocates_otherwise(PASSED, patched);
	if (unlikely(live_way))
		return allocates_live(PASSED, patched);
	return allocates_recorded(PASSED, patched);
}

static uint64_t hook_resizes(ARGUMENTS, const struct patched *patched)
{
	const struct allocator_function *function = patched->function;
	enum trace_op operation = patched->operation == TRACE_OP_REALLOCARRAY_NULL
					  ? TRACE_OP_REALLOCARRAY
					  : TRACE_OP_REALLOC;
	void *old = (void *)ARGUMENT(function->pointer);
	const struct patched *outer;
	struct thread *thread;
	uint64_t start, result;

	struct guard_call call = {.state = ARCH_PATCHED_CALLER()};

	call.patched = true;
	hooks_resolve();
	thread = guard_enter(&call);
	start = allocation_resize_begins(&thread, &call, old);
	outer = enter(thread, patched);
	if (thread)
		admission_hold(&thread->admission);
	result = patched_behind_of(patched)(PASSED);
	if (thread)
		thread->patched = outer;
	allocation_resized(thread, &call, operation, old, (void *)result, size_in(function, PASSED),
			   start);
	return result;
}

static never_inline uint64_t frees_open(ARGUMENTS, const struct patched *patched)
{
	void *block = (void *)ARGUMENT(patched->function->pointer);
	struct thread *thread = thread_self;
	uint64_t result;

	guard_open(thread, ARCH_PATCHED_CALLER().sp);
	thread->patched = patched;
	thread->outer_block = block;
	if (unlikely(live_way))
		live_ends_here(thread, block);
	else
		allocation_ends(thread, patched->operation, block);
	result = patched_behind_of(patched)(PASSED);
	thread->outer_block = NULL;
	thread->patched = NULL;
	guard_close(thread);
	return result;
}

static never_inline uint64_t frees_otherwise(ARGUMENTS, const struct patched *patched)
{
	void *block = (void *)ARGUMENT(patched->function->pointer);
	const struct patched *outer;
	struct thread *thread;
	uint64_t result;

	struct guard_call call = {.state = ARCH_PATCHED_CALLER()};

	call.patched = true;
	if (!block)
		return patched_behind_of(patched)(PASSED);
	hooks_resolve();
	thread = guard_enter(&call);
	outer = enter(thread, patched);
	allocation_ends_slow(thread, &call, patched->operation, block);
	if (thread)
		thread->outer_block = block;
	result = patched_behind_of(patched)(PASSED);
	if (thread) {
		thread->outer_block = NULL;
		thread->patched = outer;
	}
	guard_leave(thread, &call);
	return result;
}

static uint64_t hook_frees(ARGUMENTS, const struct patched *patched)
{
	void *block = (void *)ARGUMENT(patched->function->pointer);

	if (unlikely(live_way) && live_passes_over_end(block))
		return patched_behind_of(patched)(PASSED);
	if (guard_is_open(thread_self) && likely(block != NULL))
		return frees_open(PASSED, patched);
	return frees_otherwise(PASSED, patched);
}

const struct patch_hooks hooks_of_patched = {
	.allocates = (void *)hook_allocates,
	.resizes = (void *)hook_resizes,
	.frees = (void *)hook_frees,
};
