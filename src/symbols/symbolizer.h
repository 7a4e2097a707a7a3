/*
 * Finds names for positions in code: function, file, line, inlined functions, demangled. It reads
 * the ELF files on this machine and their separate debug files (build-id directories, the user's
 * cache, debuglink, .gnu_debugdata), by libdw's low-level calls and indexes of our own.
 * dwfl_module_addrinfo() is not used: symbolizer.c has measured how slow it is.
 *
 * A symbolizer belongs to one thread. Strings it returns live until it is destroyed.
 */
#ifndef MALLOW_SYMBOLS_SYMBOLIZER_H
#define MALLOW_SYMBOLS_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/cleanup.h"
#include "hosted/err.h"

struct symbolizer;
struct symbol_module;

struct err *symbolizer_create(struct symbolizer **ret);
void symbolizer_destroy(struct symbolizer *symbolizer);
CLEANUP_DEFINE(struct symbolizer *, symbolizer_destroy);

/*
 * Adds a place of separate debug files: a directory, searched as /usr/lib/debug is (.build-id/xx/…,
 * or the name in .gnu_debuglink), or one debug file. Places are searched in the order in which they
 * were added, and before the system's. Counts for modules that are asked for later.
 */
struct err *symbolizer_add_debug_path(struct symbolizer *symbolizer, const char *path);
/* Adds several places; a NULL ends the list. */
struct err *symbolizer_add_debug_paths(struct symbolizer *symbolizer, const char *const *paths);

/*
 * Where a module's file can be read, if not at its path: that of a program in a container, or one
 * that was deleted since and is still open. One path may have several places, with files of
 * different build ids. Counts for modules that are asked for later.
 */
struct err *symbolizer_add_place(struct symbolizer *symbolizer, const char *path,
				 const char *place);

/*
 * The architecture, as e_machine, of the recorded program (0: any). A module without a build id is
 * read from no file of another one. Counts for modules that are asked for later.
 */
void symbolizer_set_machine(struct symbolizer *symbolizer, uint32_t machine);

/*
 * Opens the ELF file at path if its build id is the given one (build_id_size 0: not checked). Else
 * opens the program or library with that build id in a place of debug files or in the cache, else
 * the separate debug file with that build id. If the file is missing, replaced or unreadable, this
 * does not fail: the module knows no names, and symbol_module_note() says why. The same path and
 * build id give the same module. The symbolizer owns *ret.
 */
struct err *symbolizer_module(struct symbolizer *symbolizer, const char *path,
			      const uint8_t *build_id, size_t build_id_size,
			      struct symbol_module **ret);

/*
 * Closes all modules and frees what was read of their files. Pointers to modules are invalid then;
 * names that were found stay valid. A module that is asked for again is opened again.
 */
void symbolizer_close_modules(struct symbolizer *symbolizer);

/*
 * What is wrong with the module's file: why it gives no names ("file changed since the recording"),
 * or only some ("damaged debug information"). NULL: nothing. Damage within a file is noticed only
 * when a name is asked for.
 */
const char *symbol_module_note(const struct symbol_module *module);

/* One function at a code position. */
struct symbol {
	/* As in the symbol table, see symbolizer_readable(); NULL: unknown. */
	const char *raw_function;
	const char *file; /* NULL unknown */
	uint32_t line;    /* 0 unknown */
	bool inlined;     /* its code was inlined into the next symbol's function */
	uint64_t offset;  /* from the start of the ELF symbol to the address asked for */
};

/*
 * Finds the functions at file_address, which is the pc - bias. For a return address the caller
 * subtracts 1 first, so that it lies in the call. *ret: *count >= 1 symbols, the innermost inlined
 * function first, the function of the symbol table last; they live as long as the module. If
 * nothing is known: one symbol of NULLs.
 */
struct err *symbol_module_find(struct symbol_module *module, uint64_t file_address,
			       const struct symbol **ret, size_t *count);

/*
 * raw without the version that linkers append ("malloc@@GLIBC_2.2.5"). raw must live as long as the
 * symbolizer.
 */
struct err *symbolizer_plain(struct symbolizer *symbolizer, const char *raw, const char **ret);

/*
 * Makes a raw name readable: demangled, without the version that linkers append. Not part of the
 * look-up, because demangling takes longer than that and few names are ever shown.
 */
struct err *symbolizer_readable(struct symbolizer *symbolizer, const char *raw, const char **ret);

#endif
