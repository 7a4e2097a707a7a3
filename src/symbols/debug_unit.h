/*
 * One compilation unit of DWARF: finds the functions at an address, inlined ones too, and their
 * source lines. When the first address is asked for, one walk over the unit's DIEs fills a flat
 * span map. (libdw's dwarf_getscopes() walks them for each address: 165 ms an address in large C++
 * units.)
 *
 *	f() [0 .. 90)  ⊃  g() inlined [10 .. 50)  ⊃  h() inlined [20 .. 30)
 *	nodes   0 f   1 g, parent 0   2 h, parent 1
 *	spans   0 → 0   10 → 1   20 → 2   30 → 1   50 → 0   90 → none
 *
 * File names belong to libdw, function names to libdw or to struct debug_names: they live as long
 * as both.
 */
#ifndef MALLOW_SYMBOLS_DEBUG_UNIT_H
#define MALLOW_SYMBOLS_DEBUG_UNIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"
#include "hosted/vec.h"
#include "symbols/debug_name.h"
#include "symbols/debug_split.h"
#include "symbols/span_map.h"

/* A function, or an inlined copy of one. */
struct debug_node {
	Dwarf_Off die;
	uint32_t parent; /* the node it is inlined into; SPAN_NONE: none */
	bool inlined;
};

struct debug_unit {
	Dwarf_Die line_die; /* the unit, or the skeleton of a split unit: it has the line table */
	Dwarf_Die tree_die; /* the unit with its functions */
	bool loaded;
	VEC(struct debug_node) nodes;
	struct span_map map; /* values: indices of nodes */
};

/* A function at an address, as the debug information tells. */
struct debug_frame {
	const char *name; /* the mangled one if there is one; NULL: unknown */
	const char *file; /* relative to the directory of debug_frames; NULL: unknown */
	uint32_t line;    /* 0: unknown */
	bool inlined;     /* its code was inlined into the next frame's function */
};

struct debug_frames {
	VEC(struct debug_frame) list;
	const char *directory; /* the files are relative to it; NULL: unknown */
};

/* die: the unit's DIE, or a skeleton's. Nothing is read yet. */
void debug_unit_init(struct debug_unit *unit, const Dwarf_Die *die);
void debug_unit_deinit(struct debug_unit *unit);

/*
 * Appends the functions at address, innermost first: at least one frame. The first call reads the
 * unit.
 */
struct err *debug_unit_find(struct debug_unit *unit, struct debug_split *split,
			    struct debug_names *names, uint64_t address, struct debug_frames *ret);

/*
 * Adds the address ranges of a DIE, with that value. base: for a split unit, the start address that
 * its skeleton gives; the unit's range lists are relative to it. 0: the unit gives its own base.
 */
struct err *debug_unit_add_ranges(Dwarf_Die *die, Dwarf_Addr base, uint32_t value,
				  struct span_ranges *ranges);

#endif
