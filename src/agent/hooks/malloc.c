/*
 * malloc and its family. Each hook calls the real function and records what that did. The program
 * gets the real function's result and errno.
 *
 * A hook jumps to the function that does its work, which then stands in its place (guard.h):
 *
 *   hook_malloc ──► the real malloc    MODE=live with samples: no sample falls into this block
 *               ──► malloc_otherwise   the thread is not open: nested, in a handler, not begun, off
 *               ──► malloc_recorded    the thread is open, and records
 *               ──► malloc_live        the thread is open, and keeps the table of MODE=live
 *
 * The first case comes first, whether the thread is open or not: live/live_hook.h.
 */
#include <errno.h>

#include "agent/hooks/allocation.h"
#include "agent/hooks/hooks.h"
#include "agent/live/live_hook.h"
#include "agent/record/fact_here.h"

/* The bytes that calloc and reallocarray are asked for; the maximum if that overflows. */
static uint64_t product(size_t count, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

/* An allocation by a thread that is open. `behind` makes the block, `done` records it. */
#define DEFINE_OPEN_ALLOCATION(name, parameters, behind, done)                                     \
	static never_inline void *name(HOOK_LIST parameters, struct thread *thread)                \
	{                                                                                          \
		void *block;                                                                       \
                                                                                                   \
		guard_open(thread, ARCH_MARK());                                                   \
		block = behind;                                                                    \
		done;                                                                              \
		guard_close(thread);                                                               \
		return block;                                                                      \
	}

/* A hook that allocates by one call of the real function, or of a substitute for it. */
#define DEFINE_ALLOCATION(name, OPERATION, parameters, arguments, behind, bytes, alignment)        \
	DEFINE_OPEN_ALLOCATION(name##_recorded, parameters, behind,                                \
			       allocation_done(thread, &ARCH_CALLER(), TRACE_OP_##OPERATION,       \
					       block, bytes, alignment))                           \
	DEFINE_OPEN_ALLOCATION(name##_live, parameters, behind,                                    \
			       live_allocates_here(thread, ARCH_MARK(), block, bytes))             \
                                                                                                   \
	static never_inline void *name##_otherwise parameters                                      \
	{                                                                                          \
		struct thread *thread;                                                             \
		void *block;                                                                       \
                                                                                                   \
		if (toggle_is_idle())                                                              \
			return behind;                                                             \
		GUARD_CALL(call);                                                                  \
		hooks_resolve();                                                                   \
		thread = guard_enter(&call);                                                       \
		block = behind;                                                                    \
		allocation_done_slow(thread, &call, TRACE_OP_##OPERATION, block, bytes,            \
				     alignment);                                                   \
		return block;                                                                      \
	}                                                                                          \
                                                                                                   \
	void *hook_##name parameters                                                               \
	{                                                                                          \
		struct thread *thread = thread_self;                                               \
                                                                                                   \
		if (unlikely(live_way)) {                                                          \
			if (live_passes_over(thread, bytes))                                       \
				return behind;                                                     \
			if (guard_is_open(thread))                                                 \
				return name##_live(HOOK_LIST arguments, thread);                   \
		} else if (guard_is_open(thread)) {                                                \
			return name##_recorded(HOOK_LIST arguments, thread);                       \
		}                                                                                  \
		return name##_otherwise arguments;                                                 \
	}

DEFINE_ALLOCATION(malloc, MALLOC, (size_t size), (size), real.malloc(size), size, 0)
// calloc() is where ld.so may be caught at loading C++ libraries: hooks.h.
DEFINE_ALLOCATION(calloc, CALLOC, (size_t count, size_t size), (count, size),
		  (hooks_libraries_may_come(size, ARCH_CALLER().pc), real.calloc(count, size)),
		  product(count, size), 0)
DEFINE_ALLOCATION(aligned_alloc, ALIGNED_ALLOC, (size_t alignment, size_t size), (alignment, size),
		  real.aligned_alloc(alignment, size), size, alignment)
DEFINE_ALLOCATION(memalign, MEMALIGN, (size_t alignment, size_t size), (alignment, size),
		  real.memalign(alignment, size), size, alignment)
DEFINE_ALLOCATION(valloc, VALLOC, (size_t size), (size),
		  real.valloc ? real.valloc(size) : real.memalign(arch_page(), size), size, 0)
DEFINE_ALLOCATION(pvalloc, PVALLOC, (size_t size), (size),
		  real.pvalloc ? real.pvalloc(size)
			       : real.memalign(arch_page(), bytes_round_up(size, arch_page())),
		  size, 0)

static never_inline int posix_memalign_entered(void **ret, size_t alignment, size_t size)
{
	GUARD_CALL(call);
	struct thread *thread;
	int result;

	hooks_resolve();
	thread = guard_enter(&call);
	result = real.posix_memalign(ret, alignment, size);
	allocation_done_slow(thread, &call, TRACE_OP_POSIX_MEMALIGN, result ? NULL : *ret, size,
			     alignment);
	return result;
}

int hook_posix_memalign(void **ret, size_t alignment, size_t size)
{
	if (unlikely(live_way) && live_passes_over(thread_self, size))
		return real.posix_memalign(ret, alignment, size);
	return posix_memalign_entered(ret, alignment, size);
}

/* Not glibc's reallocarray(): that would call realloc by our hook, as a nested call. */
static void *real_reallocarray(void *old, size_t count, size_t size)
{
	return product(count, size) == SIZE_MAX ? (void *)(next_functions_return(-ENOMEM) + 1)
						: real.realloc(old, count * size);
}

/* A realloc. MODE=live has no function of its own here: it gets them by the sink. */
#define DEFINE_RESIZE(name, OPERATION, parameters, arguments, behind, bytes)                       \
	static inline __attribute__((always_inline)) void *name##_entered(                         \
		HOOK_LIST parameters, struct thread *thread, struct guard_call *call)              \
	{                                                                                          \
		uint64_t start = allocation_resize_begins(&thread, call, old);                     \
		void *block = behind;                                                              \
                                                                                                   \
		allocation_resized(thread, call, TRACE_OP_##OPERATION, old, block, bytes, start);  \
		return block;                                                                      \
	}                                                                                          \
                                                                                                   \
	static never_inline void *name##_open(HOOK_LIST parameters, struct thread *thread)         \
	{                                                                                          \
		GUARD_CALL(call);                                                                  \
		guard_open(thread, arch_mark(&call.state));                                        \
		return name##_entered(HOOK_LIST arguments, thread, &call);                         \
	}                                                                                          \
                                                                                                   \
	static never_inline void *name##_otherwise parameters                                      \
	{                                                                                          \
		GUARD_CALL(call);                                                                  \
		hooks_resolve();                                                                   \
		return name##_entered(HOOK_LIST arguments, guard_enter(&call), &call);             \
	}                                                                                          \
                                                                                                   \
	void *hook_##name parameters                                                               \
	{                                                                                          \
		struct thread *thread = thread_self;                                               \
                                                                                                   \
		if (unlikely(live_way) && live_passes_over_resize(thread, old, bytes))             \
			return behind;                                                             \
		if (guard_is_open(thread))                                                         \
			return name##_open(HOOK_LIST arguments, thread);                           \
		return name##_otherwise arguments;                                                 \
	}

DEFINE_RESIZE(realloc, REALLOC, (void *old, size_t size), (old, size), real.realloc(old, size),
	      size)
DEFINE_RESIZE(reallocarray, REALLOCARRAY, (void *old, size_t count, size_t size),
	      (old, count, size), real_reallocarray(old, count, size), product(count, size))

/* The end of a block by a thread that is open. `ends` records it, before the real function. */
#define DEFINE_OPEN_FREE(name, parameters, ends, behind)                                           \
	static never_inline void name(HOOK_LIST parameters, struct thread *thread)                 \
	{                                                                                          \
		guard_open(thread, ARCH_MARK());                                                   \
		ends;                                                                              \
		behind;                                                                            \
		if (allocation_is_loaders(ARCH_CALLER().pc))                                       \
			allocation_freed_by_loader_slow(thread, block);                            \
		guard_close(thread);                                                               \
	}

/* free(), its older names and C23's. Where the real one is missing, plain free() serves. */
#define DEFINE_FREE(name, parameters, arguments, behind)                                           \
	DEFINE_OPEN_FREE(name##_recorded, parameters,                                              \
			 allocation_ends(thread, TRACE_OP_FREE, block), behind)                    \
	DEFINE_OPEN_FREE(name##_live, parameters, live_ends_here(thread, block), behind)           \
                                                                                                   \
	static never_inline void name##_otherwise parameters                                       \
	{                                                                                          \
		struct thread *thread;                                                             \
                                                                                                   \
		if (toggle_is_idle() || (!block && likely(real.ready))) {                          \
			behind;                                                                    \
			return;                                                                    \
		}                                                                                  \
		GUARD_CALL(call);                                                                  \
		hooks_resolve();                                                                   \
		thread = guard_enter(&call);                                                       \
		allocation_ends_slow(thread, &call, TRACE_OP_FREE, block);                         \
		behind;                                                                            \
		if (thread && allocation_is_loaders(call.state.pc))                                \
			allocation_freed_by_loader_slow(thread, block);                            \
		guard_leave(thread, &call);                                                        \
	}                                                                                          \
                                                                                                   \
	void hook_##name parameters                                                                \
	{                                                                                          \
		if (unlikely(live_way)) {                                                          \
			if (live_passes_over_end(block))                                           \
				return behind;                                                     \
			if (guard_is_open(thread_self) && likely(block != NULL))                   \
				return name##_live(HOOK_LIST arguments, thread_self);              \
		} else if (guard_is_open(thread_self) && likely(block != NULL)) {                  \
			return name##_recorded(HOOK_LIST arguments, thread_self);                  \
		}                                                                                  \
		return name##_otherwise arguments;                                                 \
	}

DEFINE_FREE(free, (void *block), (block), real.free(block))
DEFINE_FREE(cfree, (void *block), (block), real.cfree ? real.cfree(block) : real.free(block))
DEFINE_FREE(free_sized, (void *block, size_t size), (block, size),
	    real.free_sized ? real.free_sized(block, size) : real.free(block))
DEFINE_FREE(free_aligned_sized, (void *block, size_t alignment, size_t size),
	    (block, alignment, size),
	    real.free_aligned_sized ? real.free_aligned_sized(block, alignment, size)
				    : real.free(block))

int hook_mallopt(int parameter, int value)
{
	GUARD_CALL(call);
	struct thread *thread;
	int result;

	hooks_resolve();
	thread = guard_enter(&call);
	result = real.mallopt ? real.mallopt(parameter, value) : 0;
	if (thread) {
		struct fact_record record = {
			.kind = TRACE_RECORD_MALLOPT, .has_time = true, .ticks = clock_ticks()};

		fact_record_add_signed(&record, parameter);
		fact_record_add_signed(&record, value);
		fact_record_add_signed(&record, result);
		thread_begin_record(thread);
		fact_here_write(thread, &record, &call.state);
		thread_end_record(thread);
	}
	guard_leave(thread, &call);
	return result;
}
