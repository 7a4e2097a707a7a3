/*
 * Names for code positions: function, file and line, inlined frames, demangled. From the ELF
 * files on this machine, their separate debug files (build-id directories, debuglink,
 * .gnu_debugdata) by libdw's low-level calls and indexes of our own: see
 * docs/adr or the measurements quoted in symbolizer.c for why not dwfl_module_addrinfo.
 *
 * A symbolizer belongs to one thread. Strings it returns live until it is destroyed.
 */
#ifndef MALLOW_SYMBOLS_SYMBOLIZER_H
#define MALLOW_SYMBOLS_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"

struct symbolizer;
struct symbol_module;

struct err *symbolizer_create(struct symbolizer **ret);
void symbolizer_destroy(struct symbolizer *symbolizer);

/*
 * A place of separate debug files: a directory (searched as /usr/lib/debug is: .build-id/xx/…, or
 * by the name in .gnu_debuglink), or one debug file. Places are searched in the order in which
 * they were added, before the system's; for the modules asked for afterwards.
 */
struct err *symbolizer_add_debug_path(struct symbolizer *symbolizer, const char *path);
/* Several, with NULL behind them. */
struct err *symbolizer_add_debug_paths(struct symbolizer *symbolizer, const char *const *paths);

/*
 * The ELF file at path, if its build id is the given one (build_id_size 0: not checked), else
 * the separate debug file for that build id. Never fails for a file that is missing, replaced or
 * unreadable: then the module knows no names, and symbol_module_note() says why. The same
 * (path, build id) gives the same module. *ret is owned by the symbolizer.
 */
struct err *symbolizer_module(struct symbolizer *symbolizer, const char *path,
			      const uint8_t *build_id, size_t build_id_size,
			      struct symbol_module **ret);

/*
 * Closes all modules, with what was read of their files; pointers to them are gone. Names that were
 * found stay, and a module asked for again is opened again.
 */
void symbolizer_close_modules(struct symbolizer *symbolizer);

/*
 * NULL, or what is wrong with the module's file: why it has no names ("file changed since the
 * recording"), or only some ("damaged debug information"). The latter is known once a name was
 * asked for.
 */
const char *symbol_module_note(const struct symbol_module *module);

/* One function at a code position. */
struct symbol {
	const char
		*raw_function; /* as in the symbol table, see symbolizer_readable(); NULL unknown */
	const char *file;      /* NULL unknown */
	uint32_t line;         /* 0 unknown */
	bool inlined;          /* its code was inlined into the next symbol's function */
	uint64_t offset;       /* from the start of the ELF symbol to the address asked for */
};

/*
 * What is at file_address (pc - bias, already moved back to the call by the caller): *count >= 1
 * symbols, the innermost inlined function first, the function of the symbol table last. Where
 * nothing is known, one symbol of NULLs.
 */
struct err *symbol_module_find(struct symbol_module *module, uint64_t file_address,
			       const struct symbol **ret, size_t *count);

/*
 * A raw name as people write it: demangled, without the version that linkers put behind it. Apart
 * from the look-up, for demangling takes longer than that and few names are ever shown.
 */
struct err *symbolizer_readable(struct symbolizer *symbolizer, const char *raw, const char **ret);

#endif
