/*
 * Puts NULs behind sections of DWARF, so that libdw stays within their memory even if the file is
 * damaged. libdw (0.188) does not check that a string ends within its section, nor that a string
 * named by .debug_str_offsets begins before the section's end, and it reads single bytes behind a
 * line table.
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

/* Which sections do not end with a NUL. */
struct debug_padding {
	bool strings; /* .debug_str or .debug_line_str: damaged */
	bool units;   /* .debug_info or .debug_types: rare, but allowed */
};

/*
 * Replaces sections of elf by padded copies: those that do not end with a NUL, and those with
 * strings whose end some offset may name. The copies lie in arena, which must outlive elf.
 * Compressed sections are decompressed, as libdw would. To be called before libdw reads any of
 * them. The only error: no memory.
 */
struct err *debug_padding_add(Elf *elf, struct arena *arena, struct debug_padding *ret);

#endif
