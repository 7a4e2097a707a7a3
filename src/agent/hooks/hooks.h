/* The functions that the program calls (hooks.def), and how they come to know what is behind them.
 */
#ifndef MALLOW_AGENT_HOOKS_HOOKS_H
#define MALLOW_AGENT_HOOKS_HOOKS_H

#include "agent/ground/next_functions.h"

/*
 * Finds the functions behind the hooks, and has the hooks found where not everybody would find them
 * (link_map_redirect()). First of all in every hook, and in what else the program may call first,
 * the C API: the settings, which are read then, may put functions of ours in their places
 * (zero_memory.h). As next_functions_find().
 */
void hooks_resolve_slow(void);

static inline void hooks_resolve(void)
{
	if (unlikely(!__atomic_load_n(&real.ready, __ATOMIC_ACQUIRE)))
		hooks_resolve_slow();
}

/*
 * A C program may get C++ libraries. glibc's loader, when all that it opens is mapped and nothing
 * is bound yet, calls calloc(n, 24) for the versions of each (struct r_found_version). It holds its
 * lock then, so that its list of objects stays: not so in its other calls, of thread starts for
 * instance.
 */
#define HOOKS_LOADERS_VERSION 24

void hooks_operators_may_come_slow(void);

static inline void hooks_operators_may_come(size_t size, uint64_t caller)
{
	if (unlikely(size == HOOKS_LOADERS_VERSION) &&
	    !real.new &&caller - real.loader_start < real.loader_size)
		hooks_operators_may_come_slow();
}

/* Linked into a static program, what the linker's --wrap binds calls to: link_map_static.c. */
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
