/*
 * The functions that an ELF file names, from .symtab, or from .dynsym if that was stripped. The
 * file is read, not mapped: a mapping would fault if somebody truncates the file. Its content is
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
	const void **functions; /* const ElfW(Sym), by address */
	size_t count;
};

/*
 * Reads the names into `memory`. *file has no names if the file cannot be read or its build id
 * differs (build_id_size 0: any will do).
 */
void symbol_file_read(struct symbol_file *file, const char *path, const uint8_t *build_id,
		      size_t build_id_size, struct report_memory *memory);

/* The function that holds the address (at link time). *offset is the offset in it. NULL: none. */
const char *symbol_file_find(const struct symbol_file *file, uint64_t address, uint64_t *offset);

#endif
