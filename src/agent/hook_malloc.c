/*
 * malloc and its family. Each hook calls the real function and records what it did; what it
 * returns, errno included, is the real function's.
 */
#include <errno.h>

#include "agent/allocation.h"
#include "agent/real.h"

void *hook_malloc(size_t size)
{
	GUARD_CALL(call);
	struct thread *thread;
	void *block;

	real_resolve();
	thread = guard_enter(&call);
	block = real.malloc(size);
	allocation_done(thread, &call, TRACE_OP_MALLOC, block, size, 0);
	return block;
}

/* What calloc and reallocarray are asked for; an overflow, which fails, counts as the maximum. */
static uint64_t product(size_t count, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

void *hook_calloc(size_t count, size_t size)
{
	GUARD_CALL(call);
	struct thread *thread;
	void *block;

	real_resolve();
	thread = guard_enter(&call);
	block = real.calloc(count, size);
	allocation_done(thread, &call, TRACE_OP_CALLOC, block, product(count, size), 0);
	return block;
}

void *hook_realloc(void *old, size_t size)
{
	GUARD_CALL(call);
	struct thread *thread;
	uint64_t start;
	void *block;

	real_resolve();
	thread = guard_enter(&call);
	start = clock_ticks();
	block = real.realloc(old, size);
	allocation_resized(thread, &call, TRACE_OP_REALLOC, old, block, size, start);
	return block;
}

void *hook_reallocarray(void *old, size_t count, size_t size)
{
	GUARD_CALL(call);
	struct thread *thread;
	uint64_t start;
	void *block;

	real_resolve();
	thread = guard_enter(&call);
	start = clock_ticks();
	// glibc's own calls realloc by the hook; without it there is no nest to tell apart.
	block = product(count, size) == SIZE_MAX ? (void *)(real_return(-ENOMEM) + 1)
						 : real.realloc(old, count * size);
	allocation_resized(thread, &call, TRACE_OP_REALLOCARRAY, old, block, product(count, size),
			   start);
	return block;
}

int hook_posix_memalign(void **ret, size_t alignment, size_t size)
{
	GUARD_CALL(call);
	struct thread *thread;
	int result;

	real_resolve();
	thread = guard_enter(&call);
	result = real.posix_memalign(ret, alignment, size);
	allocation_done(thread, &call, TRACE_OP_POSIX_MEMALIGN, result ? NULL : *ret, size,
			alignment);
	return result;
}

void *hook_aligned_alloc(size_t alignment, size_t size)
{
	GUARD_CALL(call);
	struct thread *thread;
	void *block;

	real_resolve();
	thread = guard_enter(&call);
	block = real.aligned_alloc(alignment, size);
	allocation_done(thread, &call, TRACE_OP_ALIGNED_ALLOC, block, size, alignment);
	return block;
}

void *hook_memalign(size_t alignment, size_t size)
{
	GUARD_CALL(call);
	struct thread *thread;
	void *block;

	real_resolve();
	thread = guard_enter(&call);
	block = real.memalign(alignment, size);
	allocation_done(thread, &call, TRACE_OP_MEMALIGN, block, size, alignment);
	return block;
}

void *hook_valloc(size_t size)
{
	GUARD_CALL(call);
	struct thread *thread;
	void *block;

	real_resolve();
	thread = guard_enter(&call);
	block = real.valloc ? real.valloc(size) : real.memalign(4096, size);
	allocation_done(thread, &call, TRACE_OP_VALLOC, block, size, 0);
	return block;
}

void *hook_pvalloc(size_t size)
{
	GUARD_CALL(call);
	struct thread *thread;
	void *block;

	real_resolve();
	thread = guard_enter(&call);
	block = real.pvalloc ? real.pvalloc(size) : real.memalign(4096, (size + 4095) & ~4095ul);
	allocation_done(thread, &call, TRACE_OP_PVALLOC, block, size, 0);
	return block;
}

void hook_free(void *block)
{
	GUARD_CALL(call);
	struct thread *thread;

	real_resolve();
	thread = guard_enter(&call);
	allocation_ends(thread, &call, TRACE_OP_FREE, block);
	real.free(block);
	allocation_freed(thread, &call, block);
}

/* Older names and C23's; the plain function does for all of them. */
void hook_cfree(void *block)
{
	GUARD_CALL(call);
	struct thread *thread;

	real_resolve();
	thread = guard_enter(&call);
	allocation_ends(thread, &call, TRACE_OP_FREE, block);
	if (real.cfree)
		real.cfree(block);
	else
		real.free(block);
	allocation_freed(thread, &call, block);
}

void hook_free_sized(void *block, size_t size)
{
	GUARD_CALL(call);
	struct thread *thread;

	real_resolve();
	thread = guard_enter(&call);
	allocation_ends(thread, &call, TRACE_OP_FREE, block);
	if (real.free_sized)
		real.free_sized(block, size);
	else
		real.free(block);
	allocation_freed(thread, &call, block);
}

void hook_free_aligned_sized(void *block, size_t alignment, size_t size)
{
	GUARD_CALL(call);
	struct thread *thread;

	real_resolve();
	thread = guard_enter(&call);
	allocation_ends(thread, &call, TRACE_OP_FREE, block);
	if (real.free_aligned_sized)
		real.free_aligned_sized(block, alignment, size);
	else
		real.free(block);
	allocation_freed(thread, &call, block);
}

int hook_mallopt(int parameter, int value)
{
	GUARD_CALL(call);
	struct thread *thread;
	int result;

	real_resolve();
	thread = guard_enter(&call);
	result = real.mallopt ? real.mallopt(parameter, value) : 0;
	if (thread) {
		struct record record = {
			.kind = TRACE_RECORD_MALLOPT, .has_time = true, .ticks = clock_ticks()};

		record_add_signed(&record, parameter);
		record_add_signed(&record, value);
		record_add_signed(&record, result);
		guard_begin_record(thread);
		record_write_here(thread, &record, &call.state);
		guard_end_record(thread);
	}
	guard_leave(thread, &call);
	return result;
}
