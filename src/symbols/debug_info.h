/*
 * The DWARF of one ELF file: finds the unit of an address, and in it the functions and lines.
 *
 * Belongs to one thread: libdw gives wrong answers when threads share a handle.
 */
#ifndef MALLOW_SYMBOLS_DEBUG_INFO_H
#define MALLOW_SYMBOLS_DEBUG_INFO_H

#include "symbols/debug_unit.h"
#include "symbols/elf_image.h"

struct debug_info;

/*
 * alternate: the file that dwz moved shared parts to, or NULL. package: the .dwp file with the
 * split units, or NULL. All images must outlive *ret. An error: the file is damaged, or no memory.
 */
struct err *debug_info_create(struct elf_image *image, struct elf_image *alternate,
			      const struct elf_image *package, struct debug_info **ret);
/* What is damaged in the file or in the alternate one, although it can be read. NULL: nothing. */
const char *debug_info_damage(const struct debug_info *info);
/* The name of a file with a split unit that look-ups did not find. NULL: none so far. */
const char *debug_info_missing(const struct debug_info *info);
void debug_info_destroy(struct debug_info *info);

/* Appends the functions at address, innermost first. Appends nothing if no unit has the address. */
struct err *debug_info_find(struct debug_info *info, uint64_t address, struct debug_frames *ret);

#endif
