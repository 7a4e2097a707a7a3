/*
 * Split DWARF: the program holds a skeleton of each unit, and the DIEs are in .dwo files. libdw
 * finds and joins them, but it opens whatever a skeleton names. So this file decides what it may
 * open.
 */
#ifndef MALLOW_SYMBOLS_DEBUG_SPLIT_H
#define MALLOW_SYMBOLS_DEBUG_SPLIT_H

#include <elfutils/libdw.h>

#include "hosted/arena.h"
#include "hosted/err.h"

/*
 * One for the ELF file with the skeletons. It must outlive that file's Dwarf handle, which points
 * into the arena.
 */
struct debug_split {
	char *directory;     /* the file's; from malloc() */
	struct arena padded; /* sections of .dwo files, see debug_padding.h */
};

void debug_split_deinit(struct debug_split *split);

/*
 * Sets *ret to the split unit of a skeleton. *ret stays as it is if unit is no skeleton, or its
 * .dwo file is missing, of another build, or damaged. The only error: no memory.
 */
struct err *debug_split_find(struct debug_split *split, Dwarf_Die *unit, Dwarf_Die *ret);

#endif
