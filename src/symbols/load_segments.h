/*
 * The loadable segments of a program or library (ELF's PT_LOAD): which part of the
 * file belongs at which address.
 *
 *	file     | 0 ……… 0x26000 ……… 0x17c000 … |
 *	address  | 0 ……… 0x26000 ……… 0x17d000 … |   of the file; in a process the bias is added
 */
#ifndef MALLOW_SYMBOLS_LOAD_SEGMENTS_H
#define MALLOW_SYMBOLS_LOAD_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Linkers write 2 to 5. */
#define LOAD_SEGMENTS_MAX 32

struct load_segments {
	struct load_segment {
		uint64_t offset, address;
		uint64_t size; /* in the file */
		bool executable;
	} list[LOAD_SEGMENTS_MAX];
	size_t count;
};

/*
 * Reads them from a file, or from an image in memory if memory is not NULL. machine: as ELF's
 * e_machine; 0: any. false: it is no 64-bit little-endian ELF file of that machine, or has none.
 */
bool load_segments_read(int fd, const void *memory, size_t size, uint32_t machine,
			struct load_segments *ret);

/*
 * The address of what the file has at that offset, which is a multiple of the page size, as that of
 * a mapping: a page that two segments share counts for the executable one. false: in no segment.
 */
bool load_segments_address(const struct load_segments *segments, uint64_t offset, uint64_t *ret);

/* Whether all of [start, end) are pages of one segment of code. */
bool load_segments_have_code(const struct load_segments *segments, uint64_t start, uint64_t end);

/*
 * Where in the file the code at an address is. *left: how many bytes from there on are of the same
 * segment. false: there is no code.
 */
bool load_segments_offset(const struct load_segments *segments, uint64_t address, uint64_t *ret,
			  uint64_t *left);

#endif
