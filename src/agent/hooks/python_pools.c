/*
 * Hooks for blocks of Python's own pools. Python calls its allocators by tables that a program may
 * change (PyMem_SetAllocator(), Doc/c-api/memory.rst). So its functions are called as those that
 * programs hand over: what they call in themselves, malloc for large blocks, is a part of the call.
 *
 * PYTHONMALLOC and Python's development mode put other functions into these tables when Python
 * begins. Then nothing comes here, and what malloc does not see is said to be unseen, as with
 * python-pools off.
 */
#include "agent/ground/config.h"
#include "agent/ground/link_map.h"
#include "agent/ground/state.h"
#include "agent/hooks/hooks.h"
#include "agent/patch/patch.h"
#include "agent/script/python.h"
#include "agent/unwind/arch.h"
#include "trace/format.h"

/* PyMemAllocatorEx: see Include/cpython/pymem.h. */
struct pool_functions {
	void *context;
	void *(*malloc)(void *context, size_t size);
	void *(*calloc)(void *context, size_t count, size_t size);
	void *(*realloc)(void *context, void *old, size_t size);
	void (*free)(void *context, void *block);
};

/* PyMemAllocatorDomain: of memory without objects, and of objects. That of plain malloc is 0. */
enum { DOMAIN_MEM = 1, DOMAIN_OBJECT = 2 };

typedef void table_access(int domain, struct pool_functions *functions);

/* A call on its way to the function that it is for. */
struct pool_call {
	const struct pool_functions *to;
	void *old;
	size_t count, size;
};

static struct pool_functions behind[DOMAIN_OBJECT + 1];

/* Where the arguments of a call that is handed over stand (patched.h): size, and the block. */
static const struct allocator_function allocates = {.size = 3};
static const struct allocator_function resizes = {.size = 3, .pointer = 4};
static const struct allocator_function frees = {.pointer = 4};

#define POOL_FUNCTION(act, operation_)                                                             \
	{                                                                                          \
		.operation = TRACE_OP_##operation_, .function = &(act), .end = UINT64_MAX,         \
	}

static const struct patched malloc_of_pool = POOL_FUNCTION(allocates, MALLOC);
static const struct patched calloc_of_pool = POOL_FUNCTION(allocates, CALLOC);
static const struct patched realloc_of_pool = POOL_FUNCTION(resizes, REALLOC_NULL);
static const struct patched free_of_pool = POOL_FUNCTION(frees, FREE);

static uint64_t do_malloc(void *argument)
{
	const struct pool_call *call = argument;

	return (uintptr_t)call->to->malloc(call->to->context, call->size);
}

static uint64_t do_calloc(void *argument)
{
	const struct pool_call *call = argument;

	return (uintptr_t)call->to->calloc(call->to->context, call->count, call->size);
}

static uint64_t do_realloc(void *argument)
{
	const struct pool_call *call = argument;

	return (uintptr_t)call->to->realloc(call->to->context, call->old, call->size);
}

static uint64_t do_free(void *argument)
{
	const struct pool_call *call = argument;

	call->to->free(call->to->context, call->old);
	return 0;
}

/* Notes in the recording that its blocks are those of pools. */
static void note_pools(void)
{
	struct trace_header *header = process_state() == PROCESS_RECORDING ? process->header : NULL;

	if (header &&
	    unlikely(!(__atomic_load_n(&header->flags, __ATOMIC_RELAXED) & TRACE_PYTHON_POOLS)))
		__atomic_fetch_or(&header->flags, TRACE_PYTHON_POOLS, __ATOMIC_RELAXED);
}

#define HAND_OVER(what, does, made, bytes)                                                         \
	{                                                                                          \
		.patched = &(what),                                                                \
		.arguments = {(uintptr_t)(does), (uintptr_t) & (made), (bytes),                    \
			      (uintptr_t)(made).old},                                              \
		.caller = ARCH_CALLER(),                                                           \
	}

static void *pool_malloc(void *context, size_t size)
{
	struct pool_call made = {.to = context, .size = size};
	const struct patched_call call = HAND_OVER(malloc_of_pool, do_malloc, made, size);
	uint64_t block = hooks_of_patched.allocates(&call);

	note_pools();
	return (void *)(uintptr_t)block;
}

static void *pool_calloc(void *context, size_t count, size_t size)
{
	struct pool_call made = {.to = context, .count = count, .size = size};
	// Python has looked whether the product overflows.
	const struct patched_call call = HAND_OVER(calloc_of_pool, do_calloc, made, count * size);
	uint64_t block = hooks_of_patched.allocates(&call);

	note_pools();
	return (void *)(uintptr_t)block;
}

static void *pool_realloc(void *context, void *old, size_t size)
{
	struct pool_call made = {.to = context, .old = old, .size = size};
	const struct patched_call call = HAND_OVER(realloc_of_pool, do_realloc, made, size);

	return (void *)(uintptr_t)hooks_of_patched.resizes(&call);
}

static void pool_free(void *context, void *block)
{
	struct pool_call made = {.to = context, .old = block};
	const struct patched_call call = HAND_OVER(free_of_pool, do_free, made, 0);

	hooks_of_patched.frees(&call);
}

void python_pools_begin(void)
{
	uint64_t get, set, end;

	if (!config.value[SETTING_PYTHON_POOLS] || !python_layout || behind[DOMAIN_MEM].malloc ||
	    !link_map_find_symbol("PyMem_GetAllocator", &get, &end) ||
	    !link_map_find_symbol("PyMem_SetAllocator", &set, &end))
		return;
	for (int domain = DOMAIN_MEM; domain <= DOMAIN_OBJECT; domain++) {
		struct pool_functions ours = {&behind[domain], pool_malloc, pool_calloc,
					      pool_realloc, pool_free};

		((table_access *)(uintptr_t)get)(domain, &behind[domain]);
		((table_access *)(uintptr_t)set)(domain, &ours);
	}
}
