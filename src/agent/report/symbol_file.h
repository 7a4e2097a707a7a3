/*
 * The functions that an ELF file names: its .symtab, or .dynsym where that was stripped off. What
 * is needed of the file is read, for a mapping would fault where somebody cuts the file off. It is
 * not trusted. Source: the gABI, chapters "Sections" and "Symbol Table".
 */
#ifndef MALLOW_AGENT_REPORT_SYMBOL_FILE_H
#define MALLOW_AGENT_REPORT_SYMBOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/report/report_memory.h"

/* Zero: no names. */
struct symbol_file {
	const char *names;
	size_t names_size;
	const void **functions; /* const Elf64_Sym, by address */
	size_t count;
};

/*
 * In `memory`. Without names: it cannot be read, or is not the file with that build id (size 0:
 * any).
 */
void symbol_file_read(struct symbol_file *file, const char *path, const uint8_t *build_id,
		      size_t build_id_size, struct report_memory *memory);

/* The function that holds the address, as it was linked. *offset is its place in it. NULL: none. */
const char *symbol_file_find(const struct symbol_file *file, uint64_t address, uint64_t *offset);

#endif
