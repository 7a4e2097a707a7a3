/*
 * The hooks of patched functions (patch/patch.h), called by arch/patched_entry.h with the
 * function's arguments, and the function's cell as the last. What the function does, and which
 * argument is which, is in the list of allocators' functions.
 *
 * These work as the hooks of malloc.c do, with two differences. The blocks are another allocator's:
 * no usable size is known. And what the allocator calls in itself may come to other hooks; that is
 * a part of its call (thread->patched, guard.c). A block that both would record, of a malloc of the
 * program's own in front of the C library's, is recorded once, as with C++'s operators.
 *
 * Calls that the program hands over (api/api_allocator.c) come to the same hooks.
 */
#include "agent/arch/patched_entry.h"
#include "agent/ground/libc.h"
#include "agent/hooks/allocation.h"
#include "agent/hooks/hooks.h"
#include "agent/live/live_hook.h"
#include "agent/patch/patch.h"
#include "agent/patch/patched.h"

/* Calls the function itself, for its hook. */
static inline uint64_t function_behind(const struct patched_call *call)
{
	if (!ENTRY_IS_PATCHED || unlikely(!call->patched->entry))
		return patched_handed_over(call);
	return patched_behind(call);
}

/* An argument by its number, from 1 on. */
static inline uint64_t argument(const struct patched_call *call, unsigned int number)
{
	return call->arguments[number - 1];
}

/* The bytes that the function is asked for; the maximum if that overflows. */
static inline uint64_t size_in(const struct patched_call *call)
{
	const struct allocator_function *function = call->patched->function;
	uint64_t bytes = argument(call, function->size);

	if (unlikely(function->times) &&
	    __builtin_mul_overflow(bytes, argument(call, function->times), &bytes))
		return UINT64_MAX;
	return bytes;
}

static inline uint64_t alignment_in(const struct patched_call *call)
{
	uint8_t number = call->patched->function->alignment;

	return number ? argument(call, number) : 0;
}

/* The block that the function has made. NULL: none. */
static inline void *block_of(const struct patched_call *call, uint64_t result)
{
	if (unlikely(call->patched->function->stores))
		return (uint32_t)result ? NULL : *(void **)(uintptr_t)argument(call, 1);
	return (void *)(uintptr_t)result;
}

/* Makes the block. *block: what is recorded. */
static inline uint64_t allocate(const struct patched_call *call, void **block)
{
	uint64_t result = function_behind(call);

	*block = block_of(call, result);
	if (unlikely(config.value[SETTING_ZERO_MEMORY]) && *block)
		memset(*block, 0, size_in(call));
	return result;
}

static never_inline uint64_t allocates_recorded(const struct patched_call *call)
{
	struct unwind_state state = ARCH_PATCHED_CALLER(&call->caller);
	struct thread *thread = thread_self;
	struct event event = {.operation = call->patched->operation};
	void *block;
	uint64_t result;

	guard_open(thread, arch_mark(&state));
	thread->patched = call->patched;
	thread->inner_block = NULL;
	result = allocate(call, &block);
	event.address = arch_address(block);
	event.size = size_in(call);
	event.alignment = alignment_in(call);
	event.ticks = allocation_ticks(thread, event.address, event.size);
	thread_begin_record(thread);
	if (unlikely(!block))
		allocation_failed_slow(thread, &state, event.operation, event.size);
	else if (thread->inner_block != block)
		event_write_here(thread, &event, &state);
	thread_end_record(thread);
	thread->patched = NULL;
	guard_close(thread);
	return result;
}

static never_inline uint64_t allocates_live(const struct patched_call *call)
{
	struct arch_mark caller = ARCH_PATCHED_MARK(&call->caller);
	struct thread *thread = thread_self;
	uint64_t result;
	void *block;

	guard_open(thread, caller);
	thread->patched = call->patched;
	thread->inner_block = NULL;
	admission_hold(&thread->admission);
	result = allocate(call, &block);
	live_allocates_here(thread, caller, thread->inner_block != block ? block : NULL,
			    size_in(call));
	thread->patched = NULL;
	guard_close(thread);
	return result;
}

/*
 * Around a call that is recorded by the slow way: sets the function that the thread is in, and
 * returns what it was. If the event is to wait, what the interrupted hook knows of its blocks
 * stays.
 */
static const struct patched *enter_function(struct thread *thread, const struct guard_call *call,
					    const struct patched *patched)
{
	struct thread *inside = thread ? thread : call->pending_in;
	const struct patched *outer = inside ? inside->patched : NULL;

	if (inside)
		inside->patched = patched;
	if (thread)
		thread->inner_block = NULL;
	return outer;
}

static void leave_function(struct thread *thread, const struct guard_call *call,
			   const struct patched *outer)
{
	struct thread *inside = thread ? thread : call->pending_in;

	if (inside)
		inside->patched = outer;
}

static never_inline uint64_t allocates_otherwise(const struct patched_call *made)
{
	struct guard_call call = {.state = ARCH_PATCHED_CALLER(&made->caller), .patched = true};
	const struct patched *outer;
	struct thread *thread;
	void *block;
	uint64_t result;

	hooks_resolve();
	thread = guard_enter(&call);
	outer = enter_function(thread, &call, made->patched);
	if (thread)
		admission_hold(&thread->admission);
	result = allocate(made, &block);
	leave_function(thread, &call, outer);
	allocation_done_slow(thread, &call, made->patched->operation, block, size_in(made),
			     alignment_in(made));
	return result;
}

static uint64_t hook_allocates(const struct patched_call *call)
{
	// calloc() is where ld.so may be caught at loading libraries: hooks.h.
	if (unlikely(call->patched->function->times))
		hooks_libraries_may_come(argument(call, call->patched->function->size),
					 ARCH_PATCHED_CALLER(&call->caller).pc);
	if (!guard_is_open(thread_self))
		return allocates_otherwise(call);
	if (unlikely(live_way))
		return allocates_live(call);
	return allocates_recorded(call);
}

static uint64_t hook_resizes(const struct patched_call *made)
{
	struct guard_call call = {.state = ARCH_PATCHED_CALLER(&made->caller), .patched = true};
	enum trace_op operation = made->patched->operation == TRACE_OP_REALLOCARRAY_NULL
					  ? TRACE_OP_REALLOCARRAY
					  : TRACE_OP_REALLOC;
	void *old = (void *)(uintptr_t)argument(made, made->patched->function->pointer);
	const struct patched *outer;
	struct thread *thread;
	uint64_t start, result;

	hooks_resolve();
	thread = guard_enter(&call);
	start = allocation_resize_begins(&thread, &call, old);
	outer = enter_function(thread, &call, made->patched);
	if (thread)
		admission_hold(&thread->admission);
	result = function_behind(made);
	leave_function(thread, &call, outer);
	allocation_resized(thread, &call, operation, old, (void *)(uintptr_t)result, size_in(made),
			   start);
	return result;
}

static never_inline uint64_t frees_open(const struct patched_call *call, void *block)
{
	struct unwind_state state = ARCH_PATCHED_CALLER(&call->caller);
	struct thread *thread = thread_self;
	uint64_t result;

	guard_open(thread, arch_mark(&state));
	thread->patched = call->patched;
	thread->outer_block = block;
	if (unlikely(live_way))
		live_ends_here(thread, block);
	else
		allocation_ends(thread, call->patched->operation, block);
	result = function_behind(call);
	if (allocation_is_loaders(state.pc))
		allocation_freed_by_loader_slow(thread, block);
	thread->outer_block = NULL;
	thread->patched = NULL;
	guard_close(thread);
	return result;
}

static never_inline uint64_t frees_otherwise(const struct patched_call *made, void *block)
{
	struct guard_call call = {.state = ARCH_PATCHED_CALLER(&made->caller), .patched = true};
	const struct patched *outer;
	struct thread *thread;
	uint64_t result;

	hooks_resolve();
	thread = guard_enter(&call);
	outer = enter_function(thread, &call, made->patched);
	allocation_ends_slow(thread, &call, made->patched->operation, block);
	if (thread)
		thread->outer_block = block;
	result = function_behind(made);
	if (thread && allocation_is_loaders(call.state.pc))
		allocation_freed_by_loader_slow(thread, block);
	if (thread)
		thread->outer_block = NULL;
	leave_function(thread, &call, outer);
	guard_leave(thread, &call);
	return result;
}

static uint64_t hook_frees(const struct patched_call *call)
{
	void *block = (void *)(uintptr_t)argument(call, call->patched->function->pointer);

	// What is handed over may call other hooks.
	if (!block || (unlikely(live_way) && call->patched->entry && live_passes_over_end(block)))
		return function_behind(call);
	if (guard_is_open(thread_self))
		return frees_open(call, block);
	return frees_otherwise(call, block);
}

const struct patch_hooks hooks_of_patched = {
	.allocates = hook_allocates,
	.resizes = hook_resizes,
	.frees = hook_frees,
};
