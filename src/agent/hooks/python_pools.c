/*
 * Hooks for blocks of Python's own pools. Python calls its allocators by tables that a program may
 * change (PyMem_SetAllocator(), Doc/c-api/memory.rst). So its functions are called as those that
 * programs hand over: what they call in themselves, malloc for large blocks, is a part of the call.
 *
 * Our functions are there before Python begins. PYTHONMALLOC and Python's development mode then put
 * others there. So ours are put in front of those when the pools ask for their first arena: there
 * is a table for that, too. Until then the pools have handed out no block.
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

/* PyObjectArenaAllocator. */
struct arena_functions {
	void *context;
	void *(*allocate)(void *context, size_t size);
	void (*free)(void *context, void *arena, size_t size);
};

#define ARENA     (1u << 20)
#define OLD_ARENA (256u << 10) /* up to 3.9 */

typedef void arena_access(struct arena_functions *functions);

/* Python's functions that read and write these tables. */
static struct {
	table_access *get, *set;
	arena_access *get_arenas, *set_arenas;
} python;

/* A call on its way to the function that it is for. */
struct pool_call {
	const struct pool_functions *to;
	void *old;
	size_t count, size;
};

static struct pool_functions behind[DOMAIN_OBJECT + 1];
static struct arena_functions arenas;

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

static inline __attribute__((always_inline)) void *pool_malloc(const struct pool_functions *to,
							       size_t size)
{
	struct pool_call made = {.to = to, .size = size};
	const struct patched_call call = HAND_OVER(malloc_of_pool, do_malloc, made, size);
	uint64_t block = hooks_of_patched.allocates(&call);

	note_pools();
	return (void *)(uintptr_t)block;
}

static inline __attribute__((always_inline)) void *pool_calloc(const struct pool_functions *to,
							       size_t count, size_t size)
{
	struct pool_call made = {.to = to, .count = count, .size = size};
	// Python has looked whether the product overflows.
	const struct patched_call call = HAND_OVER(calloc_of_pool, do_calloc, made, count * size);
	uint64_t block = hooks_of_patched.allocates(&call);

	note_pools();
	return (void *)(uintptr_t)block;
}

static inline __attribute__((always_inline)) void *pool_realloc(const struct pool_functions *to,
								void *old, size_t size)
{
	struct pool_call made = {.to = to, .old = old, .size = size};
	const struct patched_call call = HAND_OVER(realloc_of_pool, do_realloc, made, size);

	return (void *)(uintptr_t)hooks_of_patched.resizes(&call);
}

static inline __attribute__((always_inline)) void pool_free(const struct pool_functions *to,
							    void *block)
{
	struct pool_call made = {.to = to, .old = block};
	const struct patched_call call = HAND_OVER(free_of_pool, do_free, made, 0);

	hooks_of_patched.frees(&call);
}

/*
 * What stands in the table of a domain. The context is the one that was there: another thread may
 * call while a table is written.
 */
#define OF_DOMAIN(name, domain)                                                                    \
	static void *name##_malloc(void *context, size_t size)                                     \
	{                                                                                          \
		return pool_malloc(&behind[domain], size);                                         \
	}                                                                                          \
	static void *name##_calloc(void *context, size_t count, size_t size)                       \
	{                                                                                          \
		return pool_calloc(&behind[domain], count, size);                                  \
	}                                                                                          \
	static void *name##_realloc(void *context, void *old, size_t size)                         \
	{                                                                                          \
		return pool_realloc(&behind[domain], old, size);                                   \
	}                                                                                          \
	static void name##_free(void *context, void *block)                                        \
	{                                                                                          \
		pool_free(&behind[domain], block);                                                 \
	}
OF_DOMAIN(memory, DOMAIN_MEM)
OF_DOMAIN(object, DOMAIN_OBJECT)

static const struct pool_functions ours[] = {
	[DOMAIN_MEM] = {NULL, memory_malloc, memory_calloc, memory_realloc, memory_free},
	[DOMAIN_OBJECT] = {NULL, object_malloc, object_calloc, object_realloc, object_free},
};

/* Puts our functions in front of those that stand in the tables. */
static void go_in_front(void)
{
	for (int domain = DOMAIN_MEM; domain <= DOMAIN_OBJECT; domain++) {
		struct pool_functions there;

		python.get(domain, &there);
		if (there.malloc == ours[domain].malloc)
			continue;
		behind[domain] = there;
		there.malloc = ours[domain].malloc;
		there.calloc = ours[domain].calloc;
		there.realloc = ours[domain].realloc;
		there.free = ours[domain].free;
		python.set(domain, &there);
	}
}

/* Python asks here for pages of its stack of frames, too, 16 KiB at first. */
static void *first_arena(void *context, size_t size)
{
	if (size == ARENA || size == OLD_ARENA) {
		python.set_arenas(&arenas);
		go_in_front();
	}
	return arenas.allocate(context, size);
}

static void *find_function(const char *name)
{
	uint64_t start, end;

	return link_map_find_symbol(name, &start, &end) ? (void *)(uintptr_t)start : NULL;
}

void python_pools_begin(void)
{
	struct arena_functions first;

	if (!config.value[SETTING_PYTHON_POOLS] || !python_layout || python.get)
		return;
	python.set = (table_access *)find_function("PyMem_SetAllocator");
	python.get_arenas = (arena_access *)find_function("PyObject_GetArenaAllocator");
	python.set_arenas = (arena_access *)find_function("PyObject_SetArenaAllocator");
	python.get = (table_access *)find_function("PyMem_GetAllocator");
	if (!python.get || !python.set || !python.get_arenas || !python.set_arenas)
		return;
	go_in_front();
	python.get_arenas(&arenas);
	first = (struct arena_functions){arenas.context, first_arena, arenas.free};
	python.set_arenas(&first);
}
