/*
 * Split DWARF: the program holds a skeleton of each unit, and the DIEs are in .dwo files, in object
 * files (-gsplit-dwarf=single), or all in one .dwp package.
 */
#ifndef MALLOW_SYMBOLS_DEBUG_SPLIT_H
#define MALLOW_SYMBOLS_DEBUG_SPLIT_H

#include <elfutils/libdw.h>

#include "hosted/err.h"
#include "hosted/vec.h"
#include "symbols/elf_image.h"

/* The joined file: see debug_split.c. */
struct debug_join {
	struct elf_image *image;
	Dwarf *dwarf;
};

/* A unit that was found, and the file that it points into. */
struct debug_split_unit {
	struct elf_image *file, *unpacked; /* NULL: the package, or nothing was compressed */
	struct debug_join join;
};

/*
 * One for the ELF file with the skeletons, which must outlive it. Zeroed, but for the file's
 * directory, which comes from malloc().
 */
struct debug_split {
	char *directory;
	const struct elf_image *package; /* NULL: there is no .dwp file */
	const char *missing;             /* the name of the first unit that was not found */
	VEC(struct debug_split_unit) units;
};

void debug_split_deinit(struct debug_split *split);

/*
 * Sets *ret to the split unit of a skeleton, which lives as long as split. *ret stays as it is if
 * unit is no skeleton, or its file is missing, of another build, or damaged: split->missing says
 * so. The only errors: no memory, no descriptor.
 */
struct err *debug_split_find(struct debug_split *split, Dwarf_Die *unit, Dwarf_Die *ret);

#endif
