/*
 * The sections of DWARF that look-ups here read, as libdw is to find them: in an ELF image in
 * memory, decompressed by libdeflate, which takes 0.4 of the time. Given the file itself, libdw
 * decompresses all that it knows, by zlib, when it opens it.
 *
 *	header │ .debug_info … │ .debug_abbrev │ … │ names │ table of sections
 */
#ifndef MALLOW_SYMBOLS_DEBUG_SECTIONS_H
#define MALLOW_SYMBOLS_DEBUG_SECTIONS_H

#include "symbols/elf_image.h"

/*
 * *ret stays untouched where libdw is to be given the file itself: where nothing is compressed, or
 * not by zlib, and where libdw must know the file's name since it finds other files by it. The
 * file is safe to be read by it then: no section claims a size that it cannot have. A damaged
 * section is not there. An error: one claims an impossible size, or no memory.
 */
struct err *debug_sections_open(const struct elf_image *image, struct elf_image **ret);

/*
 * To be called before debug_sections_open() where dwz's shared file was not found: libdw would look
 * for it by itself, wait for a FIFO of its name, and take one of another build.
 */
void debug_sections_hide_alternate(const struct elf_image *image);

#endif
