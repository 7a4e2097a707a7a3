/*
 * The dynamic symbols of one loaded object, as its dynamic section has them: DT_SYMTAB, and a hash
 * table to find names by (DT_GNU_HASH, else DT_HASH). Reads the object's memory, no file.
 */
#ifndef MALLOW_AGENT_GROUND_OBJECT_SYMBOLS_H
#define MALLOW_AGENT_GROUND_OBJECT_SYMBOLS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct object_symbols {
	ElfW(Sym) * table; /* NULL: it has none */
	const char *strings;
	const uint32_t *gnu_hash;
	const uint32_t *hash;
	const uint16_t *versions; /* of each symbol; NULL: no versions */
	uint64_t bias;            /* to be added to st_value */
};

struct object_symbols object_symbols_of(const struct link_map *map);

/* The index of the next symbol of that name after `after` (0: the first). 0: there is no more. */
uint32_t object_symbols_next(const struct object_symbols *symbols, const char *name,
			     uint32_t after);

/* Whether the symbol is a function that the object defines. */
bool object_symbols_is_function(const ElfW(Sym) * symbol);

#endif
