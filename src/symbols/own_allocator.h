/*
 * Finds an allocator that was linked into a program. Such a program calls it under its own name, or
 * through a malloc() of its own, which the loader finds before any preloaded library. A profiler
 * that stands in for malloc() does not see its blocks.
 */
#ifndef MALLOW_SYMBOLS_OWN_ALLOCATOR_H
#define MALLOW_SYMBOLS_OWN_ALLOCATOR_H

#include <stdbool.h>

struct own_allocator {
	const char *name; /* "jemalloc"; NULL: not known, it is the program's own malloc() */
	char symbol[64];  /* the function that it was found by; "": by its messages alone */
};

/*
 * Looks into the symbol tables of a program's file; if it was stripped, for the allocator's
 * messages. false: it has none, as far as can be told.
 */
bool own_allocator_find(const char *program, struct own_allocator *ret);

#endif
