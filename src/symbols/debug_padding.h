/*
 * NULs behind those sections of DWARF that hold strings. libdw (0.188) hands out and measures
 * strings of which it knows only that they begin in their section, or at its very end where an
 * attribute names them by .debug_str_offsets, and reads single bytes behind a line table: in a
 * damaged file each leaves the section's memory.
 *
 *	.debug_str  m a i n 0 c o u n t            as the file has it
 *	            m a i n 0 c o u n t 0 0 0 …    as libdw gets it
 */
#ifndef MALLOW_SYMBOLS_DEBUG_PADDING_H
#define MALLOW_SYMBOLS_DEBUG_PADDING_H

#include <libelf.h>
#include <stdbool.h>

#include "hosted/arena.h"
#include "hosted/err.h"

/* Which sections end with another byte than NUL. */
struct debug_padding {
	bool strings; /* .debug_str or .debug_line_str: damaged */
	bool units;   /* .debug_info or .debug_types: rare, but allowed */
};

/*
 * To be called before dwarf_begin_elf(). Of the sections with strings each that ends with another
 * byte than NUL, or whose end some offset may name, becomes a padded copy in arena, which must
 * outlive elf. Compressed ones are decompressed, as libdw would. The only error: no memory.
 */
struct err *debug_padding_add(Elf *elf, struct arena *arena, struct debug_padding *ret);

#endif
