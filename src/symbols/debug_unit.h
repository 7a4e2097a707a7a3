/*
 * One compilation unit of DWARF: which inlined functions an address is in, and its source line.
 * The unit's DIEs are walked once, when its first address is asked for, into a flat span map:
 * dwarf_getscopes(), which walks them for each address, takes 165 ms an address in large C++ units.
 *
 *	f() [0 .. 90)  ⊃  g() inlined [10 .. 50)  ⊃  h() inlined [20 .. 30)
 *	nodes   0 f   1 g, parent 0   2 h, parent 1
 *	spans   0 → 0   10 → 1   20 → 2   30 → 1   50 → 0   90 → none
 *
 * All strings are libdw's and live as long as the Dwarf handle.
 */
#ifndef MALLOW_SYMBOLS_DEBUG_UNIT_H
#define MALLOW_SYMBOLS_DEBUG_UNIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"
#include "hosted/vec.h"
#include "symbols/debug_split.h"
#include "symbols/span_map.h"

/* A function, or an inlined copy of one. */
struct debug_node {
	Dwarf_Off die;
	uint32_t parent; /* what it is inlined into; SPAN_NONE: nothing, or it is not inlined */
	bool inlined;
};

struct debug_unit {
	Dwarf_Die line_die; /* the unit, or the skeleton of a split one: has the line table */
	Dwarf_Die tree_die; /* the unit with its functions */
	bool loaded;
	VEC(struct debug_node) nodes;
	struct span_map map; /* to nodes */
};

/* A function as the debug information has it. */
struct debug_frame {
	const char *name; /* mangled, if it has such a name; NULL: unknown */
	const char *file; /* NULL: unknown; see debug_frames */
	uint32_t line;    /* 0: unknown */
	bool inlined;     /* into the next frame */
};

struct debug_frames {
	VEC(struct debug_frame) list;
	const char *directory; /* to which the files are relative; NULL: unknown */
};

/* die: the unit's, which may be a skeleton. */
void debug_unit_init(struct debug_unit *unit, const Dwarf_Die *die);
void debug_unit_deinit(struct debug_unit *unit);

/* Appends the functions at address, innermost first; at least one. Loads the unit first. */
struct err *debug_unit_find(struct debug_unit *unit, struct debug_split *split, uint64_t address,
			    struct debug_frames *ret);

/* Adds the ranges of a DIE, whose value is value. */
struct err *debug_unit_add_ranges(Dwarf_Die *die, uint32_t value, struct span_ranges *ranges);

#endif
