/* Names of source files as line tables have them: relative to where the compiler ran. */
#ifndef MALLOW_SYMBOLS_SOURCE_PATH_H
#define MALLOW_SYMBOLS_SOURCE_PATH_H

#include "hosted/buf.h"

/*
 * Writes file, seen from directory (NULL: not known), without "." and "x/..":
 *
 *	/build/out, ../src/a.c    /build/src/a.c
 *	./io, ../io/ftw.c         io/ftw.c       (built with -ffile-prefix-map)
 *	./io, ./io/ftw.c          io/ftw.c       (in some DWARF 5 tables it is joined already)
 *
 * By the text alone: symbolic links of the machine that compiled are not known here.
 */
void source_path(const char *directory, const char *file, struct buf *ret);

#endif
