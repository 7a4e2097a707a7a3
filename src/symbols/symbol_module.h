/* One program or library of a symbolizer. Its public functions are in symbolizer.h. */
#ifndef MALLOW_SYMBOLS_SYMBOL_MODULE_H
#define MALLOW_SYMBOLS_SYMBOL_MODULE_H

#include "symbols/debug_files.h"
#include "symbols/symbol_names.h"
#include "symbols/symbolizer.h"

/*
 * Opens the files as symbolizer_module() says. place: where the program is read, NULL: at its path.
 * names, files and path must outlive the module.
 */
struct err *symbol_module_create(struct symbol_names *names, const struct debug_files *files,
				 const char *path, const char *place, const uint8_t *build_id,
				 size_t build_id_size, uint32_t machine,
				 struct symbol_module **ret);
void symbol_module_destroy(struct symbol_module *module);

#endif
