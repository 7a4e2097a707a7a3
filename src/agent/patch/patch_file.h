/*
 * The file of a loaded module, as it is mapped for reading: which functions of allocators it has,
 * and their code as it was before anybody changed it in memory. Source: the gABI's sections and
 * symbol tables.
 */
#ifndef MALLOW_AGENT_PATCH_PATCH_FILE_H
#define MALLOW_AGENT_PATCH_PATCH_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocators/function_choice.h"

struct patch_file {
	const uint8_t *bytes;
	size_t size;
};

/* Shared: a private mapping would have the kernel's probes in it. false: it cannot be read. */
bool patch_file_open(const char *path, struct patch_file *ret);
void patch_file_close(struct patch_file *file);

/* What was found. */
struct patch_functions {
	struct file_function *list;
	size_t count, room;
	struct file_signs signs;
	bool has_symbols; /* all functions have, not only those that are exported */
	bool overflow;    /* room was too small */
	/* An entry that cannot be patched as others are: chosen by the loader (IFUNC), without a
	 * type, or a variant that a compiler made of a function (malloc.constprop.0). NULL: none.
	 */
	const char *odd;
	uint32_t odd_group; /* of its name */
	/* That of a jemalloc under names that are not in the list: "duckdb_je_"; "": none. */
	char prefix[FUNCTION_NAMES_PREFIX];
};

/* Adds the functions of the file's symbol tables; names stay in the file. */
void patch_file_functions(const struct patch_file *file, const struct function_names *names,
			  struct patch_functions *ret);

/* The size of the function that the file's symbol tables have at an address; 0: none. */
uint64_t patch_file_size_of(const struct patch_file *file, uint64_t address);

/* Whether a symbol of a function, or of code without a type, stands in [start, end). */
bool patch_file_has_symbol(const struct patch_file *file, uint64_t start, uint64_t end);

/* The code at an address of the file; *readable: how many bytes of it there are. NULL: none. */
const uint8_t *patch_file_code(const struct patch_file *file, uint64_t address, size_t *readable);

/* The addresses between which the file's code lies. false: it has none. */
bool patch_file_range(const struct patch_file *file, uint64_t *start, uint64_t *end);

/* The file's build id, as build_id_in_notes(). 0: it has none. */
size_t patch_file_build_id(const struct patch_file *file, const uint8_t **ret);

/* Whether that memory, where the file's address 0 is at `bias`, is this file: its first page is. */
bool patch_file_is_at(const struct patch_file *file, uint64_t bias);

/* Whether the file's constants have jemalloc's messages in them. */
bool patch_file_is_jemalloc(const struct patch_file *file);

#endif
