/*
 * The functions that the agent stands in front of (hooks.def), as the next object in the search
 * order defines them, and the declarations of our own.
 */
#ifndef MALLOW_AGENT_GROUND_NEXT_FUNCTIONS_H
#define MALLOW_AGENT_GROUND_NEXT_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* What signal() takes and gives. */
typedef void signal_handler(int number);

struct next_functions {
#define HOOK(name, symbol, type, parameters) type(*name) parameters;
#include "agent/ground/hooks.def"
#undef HOOK
	size_t (*malloc_usable_size)(void *block);
	int (*pthread_key_create)(unsigned int *key, void (*destructor)(void *value));
	int (*pthread_setspecific)(unsigned int key, const void *value);
	unsigned long (*pthread_self)(void);
	int (*dl_find_object)(void *address, void *result);
	int *(*errno_location)(void);
	int (*on_exit)(void (*function)(int status, void *argument), void *argument);
	bool ready;
	bool allocator_is_glibc; /* real.malloc is glibc's: chunk headers can be read */
	bool allocator_is_musl;
	/*
	 * All operators are libstdc++'s, which call malloc and free, and what those calls come to
	 * is our hooks: no program has put its own in between.
	 */
	bool operators_are_plain;
	/*
	 * No two blocks that the program gets begin within the same 32 bytes, glibc's smallest
	 * chunk: an operator of its own might cut smaller ones.
	 */
	bool blocks_are_apart;
	bool not_redirected;                /* link_map_redirect() failed */
	uint64_t loader_start, loader_size; /* code of ld.so; 0: unknown */
};

extern struct next_functions real hidden;

/*
 * Finds them all; idempotent, callable before constructors and from several threads at once
 * (all find the same). Allocates nothing.
 */
void next_functions_resolve_slow(void);

/*
 * For functions that may appear later, with a C++ plugin: looks again. Returns its new value.
 * symbol and the place in struct next_functions belong together.
 */
void *next_functions_retry_slow(const char *symbol, void *place);

/*
 * A C program may get C++ libraries. glibc's loader, when all that it opens is mapped and nothing
 * is bound yet, calls calloc(n, 24) for the versions of each (struct r_found_version). It holds its
 * lock then, so that its list of objects stays: not so in its other calls, of thread starts for
 * instance.
 */
#define REAL_LOADERS_VERSION 24

void next_functions_operators_may_come_slow(void);

static inline void next_functions_operators_may_come(size_t size, uint64_t caller)
{
	if (unlikely(size == REAL_LOADERS_VERSION) &&
	    !real.new &&caller - real.loader_start < real.loader_size)
		next_functions_operators_may_come_slow();
}

/*
 * Whether the code at pc belongs to the functions behind the operators (or to another allocator
 * than the C library's): what it calls is part of what it does. A new_handler, or a signal
 * handler, is somebody else's code.
 */
bool next_functions_is_allocator_code(uint64_t pc);

/* The code in [start, end) is gone: functions found in it are looked for again when needed. */
void next_functions_forget(uint64_t start, uint64_t end);

/*
 * A raw system call's result as the C library gives it: -1 and errno for an error. For functions
 * that we answer ourselves.
 */
long next_functions_return(long result);

static inline void next_functions_resolve(void)
{
	if (__builtin_expect(!__atomic_load_n(&real.ready, __ATOMIC_ACQUIRE), 0))
		next_functions_resolve_slow();
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
