/*
 * The name of a function as DWARF has it. gcc gives an inlined lambda no linkage name, and its
 * class no name at all: both lambdas below would be called "operator()". Such a lambda gets a
 * mangled name made from the function that it stands in. Demanglers turn it into readable text:
 *
 *	DW_TAG_subprogram "main"
 *	  DW_TAG_structure_type
 *	    DW_TAG_subprogram "operator()"      _ZZ4mainE8{lambda}       main::{lambda}
 *	  DW_TAG_structure_type
 *	    DW_TAG_subprogram "operator()"      _ZZ4mainE10{lambda#2}    main::{lambda#2}
 *
 * DIEs do not know their parents, so the first such name of a unit costs one walk over it.
 */
#ifndef MALLOW_SYMBOLS_DEBUG_NAME_H
#define MALLOW_SYMBOLS_DEBUG_NAME_H

#include <elfutils/libdw.h>
#include <stdint.h>

#include "hosted/arena.h"
#include "hosted/err.h"
#include "hosted/map.h"
#include "hosted/vec.h"

/* The operator() of a lambda's class. */
struct debug_lambda {
	Dwarf_Die function; /* it stands in; addr NULL: in none */
	const void *class;
	int line, column; /* where it stands */
	const char *name; /* NULL: not asked for yet */
};

/* The names of one file. Zeroed: empty. */
struct debug_names {
	struct map seen; /* where a DIE is in memory: a unit (value 0), or index of lambdas */
	VEC(struct debug_lambda) lambdas;
	struct arena texts;
};

void debug_names_deinit(struct debug_names *names);

/*
 * *ret: the mangled name if there is one. NULL: unknown. It belongs to libdw or to names, and lives
 * as long as both.
 */
struct err *debug_name_find(struct debug_names *names, Dwarf_Die *function, const char **ret);

#endif
