/* Which package of a Debian system a file is of: its debug symbols come in one of that name. */
#ifndef MALLOW_SYMBOLS_DEBUG_PACKAGE_H
#define MALLOW_SYMBOLS_DEBUG_PACKAGE_H

#include "hosted/err.h"

/*
 * From dpkg's lists of files, without dpkg: they are read all, which takes some 50 ms. *ret is for
 * free(); NULL: no package has the file, or there are no lists. The only error: no memory.
 */
struct err *debug_package_find(const char *path, char **ret);

#endif
