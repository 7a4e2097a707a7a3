/*
 * The real functions behind our hooks (hooks.def): each as the next object in the search order
 * defines it. Our own are in hooks/hooks.h.
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
	 * All operators are libstdc++'s, which call malloc and free, and these calls come to our
	 * hooks: the program has put no function of its own in between.
	 */
	bool operators_are_plain;
	/*
	 * No two blocks begin within the same 32 bytes, the size of glibc's smallest chunk. An
	 * operator of the program's own might cut smaller ones.
	 */
	bool blocks_are_apart;
	bool not_redirected;                /* link_map_redirect() failed */
	uint64_t loader_start, loader_size; /* code of ld.so; 0: unknown */
};

extern struct next_functions real hidden;

/*
 * Finds all of them. Idempotent; may be called before constructors and by several threads at once,
 * which all find the same. Allocates nothing.
 */
void next_functions_find(void);

/*
 * Looks a function up again that may appear later, with a C++ plugin. Returns its new address.
 * `place` is its member of struct next_functions.
 */
void *next_functions_retry_slow(const char *symbol, void *place);

/* The code in [start, end) is gone: forgets the functions there, which are looked up again. */
void next_functions_forget(uint64_t start, uint64_t end);

/*
 * For functions that we implement ourselves: turns the result of a raw system call into what a C
 * function returns, -1 with errno set if it is an error.
 */
long next_functions_return(long result);

#endif
