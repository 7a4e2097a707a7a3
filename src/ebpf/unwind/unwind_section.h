/* Finds the sections with unwind tables in an ELF file. */
#ifndef MALLOW_EBPF_UNWIND_UNWIND_SECTION_H
#define MALLOW_EBPF_UNWIND_UNWIND_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/eh_cursor.h"
#include "cfi/eh_entry.h"
#include "symbols/elf_image.h"

struct unwind_section {
	struct eh_image image; /* the bytes live as long as the elf_image */
	enum eh_format format;
	uint64_t start, end; /* the section in the image; both 0: no section header says it */
	bool has_header;     /* .eh_frame_hdr is in the image … */
	uint64_t header;     /* … at this address */
};

/* False: the file has none, or not where it says. */
bool unwind_section_eh_frame(const struct elf_image *elf, struct unwind_section *ret);
bool unwind_section_debug_frame(const struct elf_image *elf, struct unwind_section *ret);

/* Linkers write one executable segment. */
#define CODE_RANGES_MAX 32

struct code_ranges {
	struct code_range {
		uint64_t start, end;
	} list[CODE_RANGES_MAX];
	size_t count;
};

/*
 * The addresses of the executable segments, in the file's order, as far as the file of file_size
 * bytes holds them, and below 4 GiB: rows have 32 bits.
 */
void unwind_section_code(const struct elf_image *elf, uint64_t file_size, struct code_ranges *ret);

#endif
