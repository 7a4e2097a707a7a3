/*
 * The C++ operators. They have hooks of their own because jemalloc, tcmalloc and mimalloc bring
 * operators that do not call malloc. The real operator may not exist yet: a C program may load a
 * C++ plugin RTLD_LOCAL. Then it is looked for among all loaded objects, and if there is none,
 * malloc serves.
 */
#include "agent/ground/link_map.h"
#include "agent/ground/zero_memory.h"
#include "agent/hooks/allocation.h"
#include "agent/hooks/hooks.h"
#include "agent/live/live_hook.h"

/* The real function, if there is one by now. name is its name in hooks.def. */
#define BEHIND(name, symbol)                                                                       \
	(likely(real.name != NULL)                                                                 \
		 ? real.name                                                                       \
		 : (__typeof__(real.name))next_functions_retry_slow(symbol, &real.name))

static void *allocate_plain(size_t size)
{
	return real.malloc(size ? size : 1);
}

/*
 * For operators that only call another one, in a program without a C++ library: libmallow.so,
 * linked into it, defines all operators that it needs. Calls the program's own operator new, if it
 * has one.
 */
static void *by_new(size_t size)
{
	void *(*new)(size_t size) = link_map_find_first("_Znw" CXX_SIZE);

	return new ? new (size) : allocate_plain(size);
}

static void by_delete(void *block)
{
	void (*delete)(void *block) = link_map_find_first("_ZdlPv");

	if (delete)
		delete (block);
	else
		real.free(block);
}

/* Whether the real operator is libstdc++'s and does nothing but call malloc. */
static inline bool is_plain(size_t alignment)
{
	return likely(real.operators_are_plain) && !alignment;
}

/*
 * Does what libstdc++'s operator does as long as there is memory, but calls the real malloc: the
 * operator would come to our own hook, as a nested call. NULL: call the operator.
 */
static inline void *new_directly(struct thread *thread, size_t size, size_t alignment)
{
	return is_plain(alignment) ? thread->nested_block = allocate_plain(size) : NULL;
}

static void *allocate_aligned(size_t size, size_t alignment)
{
	void *block = NULL;

	if (alignment < sizeof(void *))
		alignment = sizeof(void *);
	return real.posix_memalign(&block, alignment, size ? size : 1) ? NULL : block;
}

/* An operator new of a thread that is open. `done` records the block. */
#define DEFINE_OPEN_NEW(name, parameters, operator, alignment, done)                               \
	static never_inline void *name(HOOK_LIST parameters, struct thread *thread)                \
	{                                                                                          \
		void *block;                                                                       \
                                                                                                   \
		guard_open(thread, ARCH_MARK());                                                   \
		thread->inner_block = NULL;                                                        \
		block = new_directly(thread, size, alignment);                                     \
		if (unlikely(!block))                                                              \
			block = zero_memory_from_operator(operator, size);                         \
		done;                                                                              \
		guard_close(thread);                                                               \
		return block;                                                                      \
	}

/*
 * The real operator may throw bad_alloc through the frames of these hooks. They have unwind tables
 * and nothing to clean up, and the guard notices it.
 *
 * If MODE=live passes a sample over and malloc has no memory, the operator is called as well,
 * because it has more to do then. Its bytes count twice, which does no harm (admission.h).
 */
#define DEFINE_NEW(name, symbol, OPERATION, parameters, arguments, alignment, fallback)            \
	DEFINE_OPEN_NEW(name##_recorded, parameters, real.name arguments, alignment,               \
			allocation_done(thread, &ARCH_CALLER(), TRACE_OP_##OPERATION, block, size, \
					alignment))                                                \
	DEFINE_OPEN_NEW(name##_live, parameters,                                                   \
			(admission_hold(&thread->admission), real.name arguments), alignment,      \
			live_allocates_here(thread, ARCH_MARK(),                                   \
					    thread->inner_block != block ? block : NULL, size))    \
                                                                                                   \
	static never_inline void *name##_otherwise parameters                                      \
	{                                                                                          \
		struct thread *thread;                                                             \
		void *(*behind)parameters;                                                         \
		void *block;                                                                       \
                                                                                                   \
		if (toggle_is_idle() && real.name)                                                 \
			return real.name arguments;                                                \
		GUARD_CALL(call);                                                                  \
		hooks_resolve();                                                                   \
		behind = BEHIND(name, symbol);                                                     \
		thread = guard_enter(&call);                                                       \
		if (likely(thread != NULL)) {                                                      \
			thread->inner_block = NULL;                                                \
			admission_hold(&thread->admission);                                        \
		}                                                                                  \
		block = likely(behind != NULL) ? zero_memory_from_operator(behind arguments, size) \
					       : fallback;                                         \
		allocation_done_slow(thread, &call, TRACE_OP_##OPERATION, block, size, alignment); \
		return block;                                                                      \
	}                                                                                          \
                                                                                                   \
	static never_inline void *name##_passed_over parameters                                    \
	{                                                                                          \
		void *block = allocate_plain(size);                                                \
                                                                                                   \
		return likely(block != NULL) ? block : name##_otherwise arguments;                 \
	}                                                                                          \
                                                                                                   \
	void *hook_##name parameters                                                               \
	{                                                                                          \
		struct thread *thread = thread_self;                                               \
                                                                                                   \
		if (unlikely(live_way)) {                                                          \
			if (is_plain(alignment) && live_passes_over(thread, size))                 \
				return name##_passed_over arguments;                               \
			if (guard_is_open(thread) && likely(real.name != NULL))                    \
				return name##_live(HOOK_LIST arguments, thread);                   \
		} else if (guard_is_open(thread) && likely(real.name != NULL)) {                   \
			return name##_recorded(HOOK_LIST arguments, thread);                       \
		}                                                                                  \
		return name##_otherwise arguments;                                                 \
	}

DEFINE_NEW(new, "_Znw" CXX_SIZE, NEW, (size_t size), (size), 0, allocate_plain(size))
DEFINE_NEW(new_array, "_Zna" CXX_SIZE, NEW_ARRAY, (size_t size), (size), 0, by_new(size))
DEFINE_NEW(new_nothrow, "_Znw" CXX_SIZE "RKSt9nothrow_t", NEW_NOTHROW,
	   (size_t size, const void *nothrow), (size, nothrow), 0, by_new(size))
DEFINE_NEW(new_array_nothrow, "_Zna" CXX_SIZE "RKSt9nothrow_t", NEW_ARRAY_NOTHROW,
	   (size_t size, const void *nothrow), (size, nothrow), 0, by_new(size))
DEFINE_NEW(new_aligned, "_Znw" CXX_SIZE "St11align_val_t", NEW_ALIGNED,
	   (size_t size, size_t alignment), (size, alignment), alignment,
	   allocate_aligned(size, alignment))
DEFINE_NEW(new_array_aligned, "_Zna" CXX_SIZE "St11align_val_t", NEW_ARRAY_ALIGNED,
	   (size_t size, size_t alignment), (size, alignment), alignment,
	   allocate_aligned(size, alignment))
DEFINE_NEW(new_aligned_nothrow, "_Znw" CXX_SIZE "St11align_val_tRKSt9nothrow_t",
	   NEW_ALIGNED_NOTHROW, (size_t size, size_t alignment, const void *nothrow),
	   (size, alignment, nothrow), alignment, allocate_aligned(size, alignment))
DEFINE_NEW(new_array_aligned_nothrow, "_Zna" CXX_SIZE "St11align_val_tRKSt9nothrow_t",
	   NEW_ARRAY_ALIGNED_NOTHROW, (size_t size, size_t alignment, const void *nothrow),
	   (size, alignment, nothrow), alignment, allocate_aligned(size, alignment))

/* An operator delete of a thread that is open. `ends` records the end, before the block is free. */
#define DEFINE_OPEN_DELETE(name, parameters, ends, operator)                                       \
	static never_inline void name(HOOK_LIST parameters, struct thread *thread)                 \
	{                                                                                          \
		guard_open(thread, ARCH_MARK());                                                   \
		thread->outer_block = block;                                                       \
		ends;                                                                              \
		if (likely(real.operators_are_plain))                                              \
			real.free(block);                                                          \
		else                                                                               \
			operator;                                                                  \
		thread->outer_block = NULL;                                                        \
		guard_close(thread);                                                               \
	}

#define DEFINE_DELETE(name, symbol, OPERATION, parameters, arguments)                              \
	DEFINE_OPEN_DELETE(name##_recorded, parameters,                                            \
			   allocation_ends(thread, TRACE_OP_##OPERATION, block),                   \
			   real.name arguments)                                                    \
	DEFINE_OPEN_DELETE(name##_live, parameters, live_ends_here(thread, block),                 \
			   real.name arguments)                                                    \
                                                                                                   \
	static never_inline void name##_otherwise parameters                                       \
	{                                                                                          \
		struct thread *thread;                                                             \
		void(*behind) parameters;                                                          \
                                                                                                   \
		if ((toggle_is_idle() || !block) && real.name) {                                   \
			real.name arguments;                                                       \
			return;                                                                    \
		}                                                                                  \
		GUARD_CALL(call);                                                                  \
		hooks_resolve();                                                                   \
		behind = BEHIND(name, symbol);                                                     \
		thread = guard_enter(&call);                                                       \
		allocation_ends_slow(thread, &call, TRACE_OP_##OPERATION, block);                  \
		if (likely(behind != NULL))                                                        \
			behind arguments;                                                          \
		else                                                                               \
			by_delete(block);                                                          \
		if (likely(thread != NULL))                                                        \
			thread->outer_block = NULL;                                                \
		guard_leave(thread, &call);                                                        \
	}                                                                                          \
                                                                                                   \
	void hook_##name parameters                                                                \
	{                                                                                          \
		if (unlikely(live_way)) {                                                          \
			if (likely(real.operators_are_plain) && live_passes_over_end(block))       \
				return real.free(block);                                           \
			if (guard_is_open(thread_self) &&                                          \
			    likely(real.name != NULL && block != NULL))                            \
				return name##_live(HOOK_LIST arguments, thread_self);              \
		} else if (guard_is_open(thread_self) &&                                           \
			   likely(real.name != NULL && block != NULL)) {                           \
			return name##_recorded(HOOK_LIST arguments, thread_self);                  \
		}                                                                                  \
		return name##_otherwise arguments;                                                 \
	}

DEFINE_DELETE(delete, "_ZdlPv", DELETE, (void *block), (block))
DEFINE_DELETE(delete_array, "_ZdaPv", DELETE_ARRAY, (void *block), (block))
DEFINE_DELETE(delete_nothrow, "_ZdlPvRKSt9nothrow_t", DELETE, (void *block, const void *nothrow),
	      (block, nothrow))
DEFINE_DELETE(delete_array_nothrow, "_ZdaPvRKSt9nothrow_t", DELETE_ARRAY,
	      (void *block, const void *nothrow), (block, nothrow))
DEFINE_DELETE(delete_sized, "_ZdlPv" CXX_SIZE, DELETE, (void *block, size_t size), (block, size))
DEFINE_DELETE(delete_array_sized, "_ZdaPv" CXX_SIZE, DELETE_ARRAY, (void *block, size_t size),
	      (block, size))
DEFINE_DELETE(delete_aligned, "_ZdlPvSt11align_val_t", DELETE, (void *block, size_t alignment),
	      (block, alignment))
DEFINE_DELETE(delete_array_aligned, "_ZdaPvSt11align_val_t", DELETE_ARRAY,
	      (void *block, size_t alignment), (block, alignment))
DEFINE_DELETE(delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", DELETE,
	      (void *block, size_t alignment, const void *nothrow), (block, alignment, nothrow))
DEFINE_DELETE(delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", DELETE_ARRAY,
	      (void *block, size_t alignment, const void *nothrow), (block, alignment, nothrow))
DEFINE_DELETE(delete_sized_aligned, "_ZdlPv" CXX_SIZE "St11align_val_t", DELETE,
	      (void *block, size_t size, size_t alignment), (block, size, alignment))
DEFINE_DELETE(delete_array_sized_aligned, "_ZdaPv" CXX_SIZE "St11align_val_t", DELETE_ARRAY,
	      (void *block, size_t size, size_t alignment), (block, size, alignment))
