/* The strings of a symbolizer: one copy of each, and each mangled name demangled once. */
#ifndef MALLOW_SYMBOLS_SYMBOL_NAMES_H
#define MALLOW_SYMBOLS_SYMBOL_NAMES_H

#include "hosted/intern.h"
#include "hosted/map.h"

/* A zeroed one is empty. */
struct symbol_names {
	struct intern strings;
	struct map demangled; /* address of the interned raw name to that of the readable one */
};

void symbol_names_deinit(struct symbol_names *names);

/* NULL: no memory. */
const char *symbol_names_add(struct symbol_names *names, const char *text);
/* As source_path(). NULL: no memory. */
const char *symbol_names_source(struct symbol_names *names, const char *directory,
				const char *file);
/* The readable form of a name that symbol_names_add() returned. NULL: no memory. */
const char *symbol_names_demangled(struct symbol_names *names, const char *raw);

#endif
