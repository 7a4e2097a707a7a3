/*
 * Finds an allocator that was linked into a program or library. Such a file calls it under its own
 * name, or through a malloc() of its own. A profiler that stands in for malloc() does not see its
 * blocks.
 */
#ifndef MALLOW_SYMBOLS_OWN_ALLOCATOR_H
#define MALLOW_SYMBOLS_OWN_ALLOCATOR_H

#include <stdbool.h>

#include "symbols/elf_image.h"

struct own_allocator {
	char name[56];   /* "jemalloc"; "jemalloc and mimalloc"; "": none that is known */
	char symbol[64]; /* a function that it was found by; "": by its messages alone */
	bool provides;   /* the file exports malloc() */
};

/*
 * Looks into the symbol tables of a file; if it was stripped, for the allocator's messages. false:
 * it exports no malloc() and has no allocator, as far as can be told.
 */
bool own_allocator_find(const struct elf_image *image, struct own_allocator *ret);

#endif
