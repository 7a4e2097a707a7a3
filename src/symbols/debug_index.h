/*
 * Finds the unit of the DWARF that an address is in. It looks into .debug_aranges first, which
 * needs no look at units. If the address is not there, it reads the ranges of all units: clang and
 * Rust write no .debug_aranges.
 */
#ifndef MALLOW_SYMBOLS_DEBUG_INDEX_H
#define MALLOW_SYMBOLS_DEBUG_INDEX_H

#include "symbols/debug_aranges.h"
#include "symbols/debug_unit.h"
#include "symbols/elf_image.h"

struct debug_units {
	VEC(struct debug_unit) list;
	struct span_map map; /* values: indices of the list */
};

/* A zeroed one is empty. */
struct debug_index {
	Dwarf *dwarf;
	struct debug_units listed; /* by .debug_aranges; zeroed: not asked for yet */
	struct debug_aranges aranges;
	struct debug_units all; /* by their own ranges */
	bool all_indexed;
};

/* dwarf: the image's handle, which must outlive the index. */
struct err *debug_index_init(struct debug_index *index, Dwarf *dwarf,
			     const struct elf_image *image);
void debug_index_deinit(struct debug_index *index);

/* *ret: the unit, which the index owns; NULL: no unit has the address. */
struct err *debug_index_find(struct debug_index *index, uint64_t address, struct debug_unit **ret);

#endif
