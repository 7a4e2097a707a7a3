/*
 * The sections of DWARF that look-ups here read, as libdw is to find them: in an ELF image in
 *memory, decompressed. Given the file itself, libdw decompresses all that it knows, by zlib, when
 *it opens it.
 *
 *	header │ .debug_info … │ .debug_abbrev │ … │ names │ table of sections
 *
 * The largest ones are decompressed as far as somebody asks for, from their beginning: a few frames
 * of the C library need a third of them. Nobody may have libdw read what was not asked for.
 */
#ifndef MALLOW_SYMBOLS_DEBUG_SECTIONS_H
#define MALLOW_SYMBOLS_DEBUG_SECTIONS_H

#include "symbols/elf_image.h"

/* A section of which only the beginning may be there. */
struct debug_section {
	struct inflate *inflate; /* NULL: all of it is there */
	uint8_t *packed;
	size_t packed_size;
	const uint8_t *bytes;
	size_t size;
};

/* A zeroed one is empty. */
struct debug_sections {
	Elf *elf; /* NULL: libdw is to be given the file */
	uint8_t *memory;
	size_t size;
	struct debug_section info, line;
	struct debug_section
		aranges; /* of size 0: there are none, or laid out for another machine */
};

/*
 * ret->elf stays NULL where nothing is compressed, or not by zlib, and where libdw must know the
 * file's name since it finds other files by it. What of the image is left to libdw is safe to be
 * read by it then: no section claims a size that it cannot have. An error: one does, or no memory.
 * The image must outlive the result.
 */
struct err *debug_sections_open(const struct elf_image *image, struct debug_sections *ret);
void debug_sections_close(struct debug_sections *sections);

/*
 * Has the unit, or line table, that begins at offset; all of it. false: the data are damaged. What
 * is not there yet are zeros, in which libdw finds nothing.
 */
bool debug_section_unit(struct debug_section *section, uint64_t offset);
bool debug_section_all(struct debug_section *section);

#endif
