/*
 * The real functions behind our hooks (hooks.def): each as the next object in the search order
 * defines it. Our own are in hooks/hooks.h.
 */
#ifndef MALLOW_AGENT_GROUND_NEXT_FUNCTIONS_H
#define MALLOW_AGENT_GROUND_NEXT_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/arch/machine.h"
#include "base/compiler.h"

/* What signal() takes and gives. */
typedef void signal_handler(int number);

/*
 * A file offset that functions without 64 in their name are given. Where long has 32 bits, glibc's
 * have such a one, and musl's have one of 64 bits, in a pair of words or, on ARM, in an aligned
 * pair.
 */
#if __SIZEOF_LONG__ == 8
#define OFFSET_PARAMETER(name) int64_t name
#define OFFSET_GIVEN(name)     (name)
#else
#define OFFSET_PARAMETER(name) uint32_t name, uint32_t name##_2, uint32_t name##_3
#define OFFSET_GIVEN(name)     next_functions_offset(name, name##_2, name##_3)
#endif

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

/* The offset that OFFSET_PARAMETER()s are. */
static inline int64_t next_functions_offset(uint32_t first, uint32_t second, uint32_t third)
{
#ifdef ARCH_OFFSETS_ALIGNED
	first = real.allocator_is_musl ? second : first;
	second = third;
#endif
	return real.allocator_is_musl ? (int64_t)((uint64_t)second << 32 | first) : (int32_t)first;
}

/* A real function that is given such an offset, as one that is given 64 bits. */
#define NEXT_WIDE(name)                                                                            \
	((__typeof__(real.name##64))((sizeof(long) == 8 || real.allocator_is_musl) && real.name    \
					     ? (void *)real.name                                   \
					     : (void *)real.name##64))

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
