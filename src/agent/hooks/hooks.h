/* The functions that the program calls in place of the real ones, and finding those. */
#ifndef MALLOW_AGENT_HOOKS_HOOKS_H
#define MALLOW_AGENT_HOOKS_HOOKS_H

#include "agent/ground/next_functions.h"

/*
 * Finds the real functions, and makes those libraries find our hooks that would look past them
 * (link_map_redirect()). Every hook calls this first, and so does the C API, which the program may
 * call first of all. It must come before the settings are read: these may put functions of ours in
 * place of real ones (zero_memory.h). Idempotent, any thread, like next_functions_find().
 */
void hooks_resolve_slow(void);

static inline void hooks_resolve(void)
{
	if (unlikely(!__atomic_load_n(&real.ready, __ATOMIC_ACQUIRE)))
		hooks_resolve_slow();
}

/*
 * A C program may load C++ libraries, which must find our operators. When glibc's loader has mapped
 * all that it opens, and bound nothing yet, it calls calloc(n, 24 or 16) for the versions of each
 * library (struct r_found_version). That is the moment to look for such libraries, and to define
 * all as modules: the loader holds its lock, so its list of objects stays as it is. In other calls,
 * at a thread's start for instance, the loader does not hold the lock.
 */
#define HOOKS_LOADERS_VERSION (2 * sizeof(void *) + 8)

void hooks_libraries_come_slow(void);

static inline void hooks_libraries_may_come(size_t size, uint64_t caller)
{
	if (unlikely(size == HOOKS_LOADERS_VERSION) &&
	    caller - real.loader_start < real.loader_size)
		hooks_libraries_come_slow();
}

/*
 * Blocks of Python's own pools (pymalloc): puts functions of ours in front of those that it takes
 * objects and other small memory from, PyMem_SetAllocator(). Blocks stay in its pools. Call it
 * before Python begins, once the interpreter is found (script/python.h).
 */
void python_pools_begin(void);

/* The hooks of patched functions: patched.c. */
extern const struct patch_hooks hooks_of_patched hidden;

/* In a static program the linker binds calls to __wrap_ names (--wrap): link_map_static.c. */
#ifdef MALLOW_STATIC
#define HOOK_PREFIX "__wrap_"
#else
#define HOOK_PREFIX
#endif

#define HOOK(name, symbol, type, parameters)                                                       \
	type hook_##name parameters __asm__(HOOK_PREFIX symbol)                                    \
		__attribute__((visibility("default")));
#include "agent/ground/hooks.def"
#undef HOOK

#endif
