/*
 * A split unit of DWARF, joined with what its program has of it, as a file of its own. libdw 0.188
 * joins units with .dwo files itself, but knows no .dwp packages, reads none that is an object file
 * with all sections (-gsplit-dwarf=single), and opens whatever a skeleton names.
 *
 *	.debug_info       .debug_abbrev  .debug_str …    of the .dwo, or the unit's part of a .dwp
 *	.debug_addr       .debug_ranges                  of the program, from the unit's base on
 *
 * The bases are attributes of the skeleton. A section that begins at its base needs none.
 */
#ifndef MALLOW_SYMBOLS_DEBUG_JOIN_H
#define MALLOW_SYMBOLS_DEBUG_JOIN_H

#include <elfutils/libdw.h>

#include "symbols/elf_image.h"

enum debug_piece {
	DEBUG_INFO,
	DEBUG_ABBREV,
	DEBUG_LINE,
	DEBUG_STR,
	DEBUG_STR_OFFSETS,
	DEBUG_RNGLISTS,
	DEBUG_RANGES,
	DEBUG_ADDR,
	DEBUG_PIECES,
};

/* Bytes of a section. Zeroed: there is none. */
struct debug_bytes {
	const uint8_t *data;
	size_t size;
};

struct debug_join {
	struct elf_image *image;
	Dwarf *dwarf;
};

/*
 * The bytes of an image's section, decompressed; suffix: ".dwo" or "". Zeroed: none, or damaged.
 */
struct debug_bytes debug_join_section(const struct elf_image *image, enum debug_piece piece,
				      const char *suffix);

/*
 * Finds the parts of the unit with that id in a .dwp package: those of all sections that it is made
 * of. false: it is not there.
 */
bool debug_join_package(const struct elf_image *package, uint64_t id,
			struct debug_bytes pieces[DEBUG_PIECES]);

/*
 * Opens the joined file. What pieces point to must outlive *ret. *ret zeroed: it is damaged. path:
 * for messages. The only error: no memory.
 */
struct err *debug_join_open(const struct debug_bytes pieces[DEBUG_PIECES], const char *path,
			    struct debug_join *ret);
void debug_join_close(struct debug_join *join);

#endif
