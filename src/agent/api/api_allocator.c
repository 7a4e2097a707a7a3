/*
 * Calls of an allocator that the program hands over to be recorded: include/mallow/mallow.h. They
 * are made and recorded by the hooks of patched functions, hooks/patched.c.
 */
#include <mallow/mallow.h>

#include "agent/ground/state.h"
#include "agent/hooks/hooks.h"
#include "agent/patch/patch.h"
#include "agent/unwind/arch.h"
#include "trace/format.h"

#define EXPORT       __attribute__((visibility("default")))
#define MALLOC_ALIGN 16 /* what malloc gives without being asked */

/* Where an argument stands in the functions below. */
enum { OLD = 3, FREED = 3, SIZE = 3, ALIGNMENT = 4, NEW_SIZE = 4 };

static const struct allocator_function allocates = {.size = SIZE, .alignment = ALIGNMENT};
static const struct allocator_function resizes = {.size = NEW_SIZE, .pointer = OLD};
static const struct allocator_function frees = {.pointer = FREED};

/* All that these call in themselves is a part of the call, wherever its code is. */
#define HANDED_OVER(act, operation_)                                                               \
	{                                                                                          \
		.operation = TRACE_OP_##operation_, .function = &(act), .end = UINT64_MAX,         \
	}

static const struct patched malloc_like = HANDED_OVER(allocates, MALLOC);
static const struct patched memalign_like = HANDED_OVER(allocates, MEMALIGN);
static const struct patched realloc_like = HANDED_OVER(resizes, REALLOC_NULL);
static const struct patched free_like = HANDED_OVER(frees, FREE);

/*
 * Returns the block. Notes in the recording that there are such calls: its reader may find an
 * allocator that has no hooks. (The first call of all begins the recording.)
 */
static void *recorded(uint64_t block)
{
	struct trace_header *header;

	if (process_state() == PROCESS_RECORDING) {
		header = process->header;
		if (unlikely(!(__atomic_load_n(&header->flags, __ATOMIC_RELAXED) &
			       TRACE_HANDS_OVER)))
			__atomic_fetch_or(&header->flags, TRACE_HANDS_OVER, __ATOMIC_RELAXED);
	}
	return (void *)(uintptr_t)block;
}

EXPORT void *mallow_api_call_allocate(void *(*allocate)(void *argument), void *argument,
				      size_t size, size_t alignment)
{
	const struct patched_call call = {
		.patched = alignment > MALLOC_ALIGN ? &memalign_like : &malloc_like,
		.arguments = {(uintptr_t)allocate, (uintptr_t)argument, size, alignment},
		.caller = ARCH_CALLER(),
	};

	return recorded(hooks_of_patched.allocates(&call));
}

EXPORT void *mallow_api_call_reallocate(void *(*reallocate)(void *argument), void *argument,
					void *old, size_t size)
{
	const struct patched_call call = {
		.patched = &realloc_like,
		.arguments = {(uintptr_t)reallocate, (uintptr_t)argument, (uintptr_t)old, size},
		.caller = ARCH_CALLER(),
	};

	return recorded(hooks_of_patched.resizes(&call));
}

EXPORT void mallow_api_call_free(void (*release)(void *argument), void *argument, void *block)
{
	const struct patched_call call = {
		.patched = &free_like,
		.arguments = {(uintptr_t)release, (uintptr_t)argument, (uintptr_t)block},
		.caller = ARCH_CALLER(),
	};

	hooks_of_patched.frees(&call);
}
