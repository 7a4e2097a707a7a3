/*
 * Which unit of the DWARF an address is in. First by .debug_aranges, without a look at units; then,
 * where that does not know the address, by the units' own ranges: clang and Rust write no
 * .debug_aranges.
 */
#ifndef MALLOW_SYMBOLS_DEBUG_INDEX_H
#define MALLOW_SYMBOLS_DEBUG_INDEX_H

#include "symbols/debug_aranges.h"
#include "symbols/debug_unit.h"
#include "symbols/elf_image.h"

struct debug_units {
	VEC(struct debug_unit) list;
	struct span_map map; /* to the list */
};

/* A zeroed one is empty. */
struct debug_index {
	Dwarf *dwarf;
	struct debug_units listed; /* by .debug_aranges; zeroed ones have not been met yet */
	struct debug_aranges aranges;
	struct debug_units all; /* by their own ranges */
	bool all_indexed;
};

/* dwarf: of the image; it must outlive the index. */
struct err *debug_index_init(struct debug_index *index, Dwarf *dwarf,
			     const struct elf_image *image);
void debug_index_deinit(struct debug_index *index);

/* *ret NULL: no unit is there. Else it is the index's. */
struct err *debug_index_find(struct debug_index *index, uint64_t address, struct debug_unit **ret);

#endif
