/*
 * Split DWARF: the program holds skeletons of its units, the DIEs are in .dwo files. libdw finds
 * and joins them, but opens whatever the skeleton names; here is what it may open.
 */
#ifndef MALLOW_SYMBOLS_DEBUG_SPLIT_H
#define MALLOW_SYMBOLS_DEBUG_SPLIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/*
 * Sets *ret to the split unit of the skeleton; leaves it alone where unit is none, or its .dwo
 * file is missing or another build's. directory is that of the ELF file.
 */
void debug_split_find(Dwarf_Die *unit, const char *directory, Dwarf_Die *ret);

/* Is there something at path that is not a regular file, so that opening it could wait? */
bool debug_split_is_unsafe(const char *path);

#endif
