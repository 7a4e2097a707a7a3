/*
 * Split DWARF: the program holds skeletons of its units, the DIEs are in .dwo files. libdw finds
 * and joins them, but opens whatever the skeleton names; here is what it may open.
 */
#ifndef MALLOW_SYMBOLS_DEBUG_SPLIT_H
#define MALLOW_SYMBOLS_DEBUG_SPLIT_H

#include <elfutils/libdw.h>

#include "hosted/arena.h"
#include "hosted/err.h"

/* What belongs to the ELF file with the skeletons. The arena must outlive its Dwarf handle. */
struct debug_split {
	char *directory;     /* of that file; from malloc() */
	struct arena padded; /* sections of .dwo files, see debug_padding.h */
};

void debug_split_deinit(struct debug_split *split);

/*
 * Sets *ret to the split unit of the skeleton; leaves it alone where unit is none, or its .dwo
 * file is missing, another build's, or damaged. The only error: no memory.
 */
struct err *debug_split_find(struct debug_split *split, Dwarf_Die *unit, Dwarf_Die *ret);

#endif
