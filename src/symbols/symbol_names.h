/* The strings of a symbolizer: one copy of each, and each mangled name demangled once. */
#ifndef MALLOW_SYMBOLS_SYMBOL_NAMES_H
#define MALLOW_SYMBOLS_SYMBOL_NAMES_H

#include "hosted/buf.h"
#include "hosted/intern.h"
#include "hosted/map.h"

/* A zeroed one is empty. */
struct symbol_names {
	struct intern strings;
	/* From the address of the interned raw name to that of the readable one. */
	struct map demangled;
};

void symbol_names_deinit(struct symbol_names *names);

/* One copy of text, which lives as long as names. NULL: no memory. */
const char *symbol_names_add(struct symbol_names *names, const char *text);
/*
 * Appends the path of a source file, which line tables give relative to the directory that the
 * compiler ran in (NULL: not known), without "." and "x/..":
 *
 *	/build/out, ../src/a.c    /build/src/a.c
 *	./io, ../io/ftw.c         io/ftw.c       (built with -ffile-prefix-map)
 *	./io, ./io/ftw.c          io/ftw.c       (in some DWARF 5 tables it is joined already)
 *
 * Only the text counts: symbolic links of the machine that compiled are not known here.
 */
void source_path(const char *directory, const char *file, struct buf *ret);
/* One copy of what source_path() makes of these. NULL: no memory. */
const char *symbol_names_source(struct symbol_names *names, const char *directory,
				const char *file);
/*
 * raw without the version that linkers append: "memcpy@@GLIBC_2.14". raw itself if it has none.
 * NULL: no memory.
 */
const char *symbol_names_plain(struct symbol_names *names, const char *raw);
/* The readable form of raw, which must come from symbol_names_add(). NULL: no memory. */
const char *symbol_names_demangled(struct symbol_names *names, const char *raw);

#endif
