/*
 * Visits the children of DIEs of a file that may be damaged: a walk neither goes round nor exhausts
 * the stack.
 *
 *	for (bool any = debug_walk_first(&walk, die, depth, &child); any;
 *	     any = debug_walk_next(&walk, &child))
 */
#ifndef MALLOW_SYMBOLS_DEBUG_WALK_H
#define MALLOW_SYMBOLS_DEBUG_WALK_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/* How deep DIEs may nest: deeper than any program does. */
#define DEBUG_DEPTH_MAX 256

/* One walk over a unit, children before siblings. */
struct debug_walk {
	Dwarf_Off last; /* offset of the last DIE; the next one's is higher, else there is a loop */
};

static inline void debug_walk_begin(struct debug_walk *walk, Dwarf_Die *unit)
{
	walk->last = dwarf_dieoffset(unit);
}

static inline bool debug_walk_visit(struct debug_walk *walk, Dwarf_Die *child)
{
	Dwarf_Off offset = dwarf_dieoffset(child);
	bool good = offset > walk->last;

	walk->last = good ? offset : walk->last;
	return good;
}

/* *child: the first child of die, which is depth levels below the unit. false: there is none. */
static inline bool debug_walk_first(struct debug_walk *walk, Dwarf_Die *die, int depth,
				    Dwarf_Die *child)
{
	return depth < DEBUG_DEPTH_MAX && !dwarf_child(die, child) && debug_walk_visit(walk, child);
}

/* *child becomes the one behind it. false: it is the last. */
static inline bool debug_walk_next(struct debug_walk *walk, Dwarf_Die *child)
{
	return !dwarf_siblingof(child, child) && debug_walk_visit(walk, child);
}

#endif
