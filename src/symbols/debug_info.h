/*
 * The DWARF of one ELF file: finds the unit of an address, then what the unit knows of it.
 *
 * Belongs to one thread: libdw gives wrong answers when a handle is shared.
 */
#ifndef MALLOW_SYMBOLS_DEBUG_INFO_H
#define MALLOW_SYMBOLS_DEBUG_INFO_H

#include "symbols/debug_unit.h"
#include "symbols/elf_image.h"

struct debug_info;

/*
 * alternate is dwz's shared file, or NULL. Both images must outlive the result. An error: the file
 * is damaged, or no memory.
 */
struct err *debug_info_create(struct elf_image *image, struct elf_image *alternate,
			      struct debug_info **ret);
/* What is wrong with the file, though it can be read, or with the alternate one; NULL: nothing. */
const char *debug_info_damage(const struct debug_info *info);
void debug_info_destroy(struct debug_info *info);

/* Appends the functions at address, innermost first; nothing where no unit is. */
struct err *debug_info_find(struct debug_info *info, uint64_t address, struct debug_frames *ret);

#endif
