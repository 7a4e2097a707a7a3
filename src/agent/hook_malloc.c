/*
 * malloc and its family. Each hook calls the real function and records what it did; what it
 * returns, errno included, is the real function's.
 */
#include <errno.h>

#include "agent/allocation.h"
#include "agent/real.h"
#include "agent/toggle.h"

#define PAGE 4096ul

/* What calloc and reallocarray are asked for; an overflow, which fails, counts as the maximum. */
static uint64_t product(size_t count, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

/* A hook that allocates by one call of the real function, or of what serves where it is missing. */
#define DEFINE_ALLOCATION(name, OPERATION, parameters, behind, bytes, alignment)                   \
	void *hook_##name parameters                                                               \
	{                                                                                          \
		struct thread *thread = thread_self;                                               \
		void *block;                                                                       \
                                                                                                   \
		if (guard_is_open(thread)) {                                                       \
			guard_open(thread, GUARD_STATE().sp);                                      \
			block = behind;                                                            \
			allocation_done(thread, &GUARD_STATE(), TRACE_OP_##OPERATION, block,       \
					bytes, alignment);                                         \
			guard_close(thread);                                                       \
			return block;                                                              \
		}                                                                                  \
		if (toggle_is_idle())                                                              \
			return behind;                                                             \
		GUARD_CALL(call);                                                                  \
		real_resolve();                                                                    \
		thread = guard_enter(&call);                                                       \
		block = behind;                                                                    \
		allocation_done_slow(thread, &call, TRACE_OP_##OPERATION, block, bytes,            \
				     alignment);                                                   \
		return block;                                                                      \
	}

DEFINE_ALLOCATION(malloc, MALLOC, (size_t size), real.malloc(size), size, 0)
DEFINE_ALLOCATION(calloc, CALLOC, (size_t count, size_t size), real.calloc(count, size),
		  product(count, size), 0)
DEFINE_ALLOCATION(aligned_alloc, ALIGNED_ALLOC, (size_t alignment, size_t size),
		  real.aligned_alloc(alignment, size), size, alignment)
DEFINE_ALLOCATION(memalign, MEMALIGN, (size_t alignment, size_t size),
		  real.memalign(alignment, size), size, alignment)
DEFINE_ALLOCATION(valloc, VALLOC, (size_t size),
		  real.valloc ? real.valloc(size) : real.memalign(PAGE, size), size, 0)
DEFINE_ALLOCATION(pvalloc, PVALLOC, (size_t size),
		  real.pvalloc ? real.pvalloc(size)
			       : real.memalign(PAGE, (size + PAGE - 1) & ~(PAGE - 1)),
		  size, 0)

int hook_posix_memalign(void **ret, size_t alignment, size_t size)
{
	GUARD_CALL(call);
	struct thread *thread;
	int result;

	real_resolve();
	thread = guard_enter(&call);
	result = real.posix_memalign(ret, alignment, size);
	allocation_done_slow(thread, &call, TRACE_OP_POSIX_MEMALIGN, result ? NULL : *ret, size,
			     alignment);
	return result;
}

void *hook_realloc(void *old, size_t size)
{
	GUARD_CALL(call);
	struct thread *thread;
	uint64_t start;
	void *block;

	real_resolve();
	thread = guard_enter(&call);
	start = allocation_resize_begins(&thread, &call, old);
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
	start = allocation_resize_begins(&thread, &call, old);
	// glibc's own calls realloc by the hook; without it there is no nest to tell apart.
	block = product(count, size) == SIZE_MAX ? (void *)(real_return(-ENOMEM) + 1)
						 : real.realloc(old, count * size);
	allocation_resized(thread, &call, TRACE_OP_REALLOCARRAY, old, block, product(count, size),
			   start);
	return block;
}

/* Older names of free and C23's: the plain function does for all of them. */
#define DEFINE_FREE(name, parameters, behind)                                                      \
	void hook_##name parameters                                                                \
	{                                                                                          \
		struct thread *thread = thread_self;                                               \
                                                                                                   \
		if (guard_is_open(thread) && likely(block != NULL)) {                              \
			guard_open(thread, GUARD_STATE().sp);                                      \
			allocation_ends(thread, TRACE_OP_FREE, block);                             \
			behind;                                                                    \
			if (allocation_is_loaders(GUARD_STATE().pc))                               \
				allocation_freed_by_loader_slow(thread, block);                    \
			guard_close(thread);                                                       \
			return;                                                                    \
		}                                                                                  \
		if (toggle_is_idle()) {                                                            \
			behind;                                                                    \
			return;                                                                    \
		}                                                                                  \
		GUARD_CALL(call);                                                                  \
		real_resolve();                                                                    \
		thread = guard_enter(&call);                                                       \
		allocation_ends_slow(thread, &call, TRACE_OP_FREE, block);                         \
		behind;                                                                            \
		if (thread && allocation_is_loaders(call.state.pc))                                \
			allocation_freed_by_loader_slow(thread, block);                            \
		guard_leave(thread, &call);                                                        \
	}

DEFINE_FREE(free, (void *block), real.free(block))
DEFINE_FREE(cfree, (void *block), real.cfree ? real.cfree(block) : real.free(block))
DEFINE_FREE(free_sized, (void *block, size_t size),
	    real.free_sized ? real.free_sized(block, size) : real.free(block))
DEFINE_FREE(free_aligned_sized, (void *block, size_t alignment, size_t size),
	    real.free_aligned_sized ? real.free_aligned_sized(block, alignment, size)
				    : real.free(block))

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
