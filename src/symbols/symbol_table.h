/*
 * The functions of ELF symbol tables, sorted once: 45 s for 10,000 look-ups in node by
 * dwfl_module_addrinfo(), which walks the table each time, are 0.05 s here.
 *
 * Symbols without a size (assembly such as _start) reach up to the next symbol of their section.
 * Among aliases one name is chosen by a fixed order, see symbol_table.c.
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
	const char *name; /* in the image */
	uint64_t section_end;
	uint8_t rank; /* lower is better, see symbol_table.c */
};

/* A zeroed one is empty. */
struct symbol_table {
	VEC(struct table_symbol) list; /* sorted by low once indexed */
	struct span_map map;           /* to indices of the list */
};

/*
 * Adds the functions of the image's tables of that type (SHT_SYMTAB or SHT_DYNSYM). The image must
 * outlive the table. Damaged entries are left out.
 */
struct err *symbol_table_add(struct symbol_table *table, const struct elf_image *image,
			     uint32_t type);

/* After the last symbol_table_add(), before the first symbol_table_find(). */
struct err *symbol_table_index(struct symbol_table *table);

void symbol_table_deinit(struct symbol_table *table);

/* NULL: none. */
const struct table_symbol *symbol_table_find(const struct symbol_table *table, uint64_t address);

#endif
