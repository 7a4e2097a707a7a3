/*
 * The functions of ELF symbol tables, sorted once. 10,000 look-ups in node take 0.05 s; libdwfl's
 * dwfl_module_addrinfo(), which walks the table each time, takes 45 s.
 *
 * A symbol without a size (assembly such as _start) reaches to the next symbol of its section. If
 * an address has several names, a fixed order chooses one (symbol_table.c).
 */
#ifndef MALLOW_SYMBOLS_SYMBOL_TABLE_H
#define MALLOW_SYMBOLS_SYMBOL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_image.h"
#include "symbols/span_map.h"

struct table_symbol {
	uint64_t low;
	uint64_t high;    /* exclusive */
	const char *name; /* points into the image */
	uint64_t section_end;
	uint8_t rank; /* lower is better, see symbol_table.c */
};

/* A zeroed one is empty. */
struct symbol_table {
	VEC(struct table_symbol) list; /* sorted by low once indexed */
	struct span_map map;           /* values: indices of the list */
};

/*
 * Adds the functions of the image's symbol tables of that type (SHT_SYMTAB or SHT_DYNSYM). The
 * image must outlive the table. Damaged entries are left out. An error: no memory.
 */
struct err *symbol_table_add(struct symbol_table *table, const struct elf_image *image,
			     uint32_t type);

/* To be called once, after the last symbol_table_add() and before the first symbol_table_find(). */
struct err *symbol_table_index(struct symbol_table *table);

void symbol_table_deinit(struct symbol_table *table);

/* The function at address. NULL: none. */
const struct table_symbol *symbol_table_find(const struct symbol_table *table, uint64_t address);

#endif
