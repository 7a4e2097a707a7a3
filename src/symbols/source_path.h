/*
 * The paths of source files, which line tables give relative to the directory that the compiler ran
 * in.
 */
#ifndef MALLOW_SYMBOLS_SOURCE_PATH_H
#define MALLOW_SYMBOLS_SOURCE_PATH_H

#include "hosted/buf.h"

/*
 * Appends the path of file, relative to directory (NULL: not known), without "." and "x/..":
 *
 *	/build/out, ../src/a.c    /build/src/a.c
 *	./io, ../io/ftw.c         io/ftw.c       (built with -ffile-prefix-map)
 *	./io, ./io/ftw.c          io/ftw.c       (in some DWARF 5 tables it is joined already)
 *
 * Only the text counts: symbolic links of the machine that compiled are not known here.
 */
void source_path(const char *directory, const char *file, struct buf *ret);

#endif
