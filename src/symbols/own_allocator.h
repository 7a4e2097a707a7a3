/*
 * An allocator that was linked into a program. Its blocks do not come by malloc(), or by one that
 * comes before any preloaded library: no profiler that stands in place of malloc() sees them.
 */
#ifndef MALLOW_SYMBOLS_OWN_ALLOCATOR_H
#define MALLOW_SYMBOLS_OWN_ALLOCATOR_H

#include <stdbool.h>

struct own_allocator {
	const char *name; /* "jemalloc"; NULL: it is malloc() itself, which the program defines */
	char symbol[64];  /* the function that it was found by; "": by its messages alone */
};

/*
 * Of a program's file: by its symbol tables, and in one that was stripped by the texts of its
 * messages. false: it has none, as far as can be told.
 */
bool own_allocator_find(const char *program, struct own_allocator *ret);

#endif
