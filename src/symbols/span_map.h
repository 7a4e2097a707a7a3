/*
 * Answers "which range is at address x?" by one binary search, for ranges that may be nested and
 * may overlap. Where ranges overlap, the one that begins last wins; of two that begin together, the
 * shorter one; of two equal ones, the one added later:
 *
 *	given    A [0 ............ 100)   B [20 .. 40)   C [20 .. 30)
 *	spans    0 A   20 C   30 B   40 A   100 none
 *
 * Used for symbol tables, for the units of a DWARF file, and for the inlined functions of a unit.
 */
#ifndef MALLOW_SYMBOLS_SPAN_MAP_H
#define MALLOW_SYMBOLS_SPAN_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"
#include "hosted/vec.h"

#define SPAN_NONE UINT32_MAX

/* An input: the addresses [low, high) have this value. */
struct span_range {
	uint64_t low;
	uint64_t high;
	uint32_t value;
	uint32_t order; /* set by span_ranges_add() */
};

/* A zeroed one is empty. */
struct span_ranges {
	VEC(struct span_range) list;
};

/* Adds a range. Empty and reversed ones are ignored. An error: no memory. */
struct err *span_ranges_add(struct span_ranges *ranges, uint64_t low, uint64_t high,
			    uint32_t value);
void span_ranges_deinit(struct span_ranges *ranges);

struct span {
	uint64_t low;
	uint32_t value;
};

/*
 * Zeroed: no ranges. A span reaches to the next one's low. Invariant: low rises strictly, and
 * neighbours differ in value.
 */
struct span_map {
	struct span *spans;
	size_t count;
};

/* Builds the map; sorts ranges. An error: no memory. */
struct err *span_map_init(struct span_map *map, struct span_ranges *ranges);
void span_map_deinit(struct span_map *map);

/* The value at address; SPAN_NONE: no range is there. */
uint32_t span_map_find(const struct span_map *map, uint64_t address);

#endif
