/*
 * Gives libdw the DWARF of a file with compressed sections: an ELF image in memory, with only the
 * sections that look-ups here read. They are decompressed by libdeflate, in 0.4 of the time that
 * libdw takes: given the file itself, it decompresses all sections that it knows, by zlib, when it
 * opens the file. Sections compressed by zstd are missing for libdw 0.188, which does not know it.
 *
 *	header │ .debug_info … │ .debug_abbrev │ … │ names │ table of sections
 */
#ifndef MALLOW_SYMBOLS_DEBUG_SECTIONS_H
#define MALLOW_SYMBOLS_DEBUG_SECTIONS_H

#include "symbols/elf_image.h"

/*
 * Makes the image. *ret stays untouched if libdw is to read the file itself: nothing in it is
 * compressed by zlib or zstd, or its words are not laid out as here. Such a file is safe for libdw
 * then: no section claims a size that it cannot have. In the image damaged sections are missing. An
 * error: a section claims an impossible size or is compressed in an unknown way, or no memory.
 */
struct err *debug_sections_open(const struct elf_image *image, struct elf_image **ret);

/*
 * Hides the name of dwz's shared file from libdw. To be called before debug_sections_open() if that
 * file was not found: libdw would look for it by itself, would wait for a FIFO of its name, and
 * would take one of another build.
 */
void debug_sections_hide_alternate(const struct elf_image *image);

/*
 * Decompresses and opens .gnu_debugdata: a small ELF image, compressed by xz, with the local
 * functions of a stripped file. *ret NULL: the image has none, or it is damaged. The only error: no
 * memory.
 */
struct err *mini_debug_open(const struct elf_image *image, struct elf_image **ret);

#endif
