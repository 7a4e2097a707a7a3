/*
 * The Debian package that a file belongs to. The package with its debug symbols is named after it.
 */
#ifndef MALLOW_SYMBOLS_DEBUG_PACKAGE_H
#define MALLOW_SYMBOLS_DEBUG_PACKAGE_H

#include "hosted/err.h"

/*
 * Finds the package of path. It reads all of dpkg's lists of files, without dpkg, which takes some
 * 50 ms. *ret is for free(); NULL: no package has the file, or there are no lists. The only error:
 * no memory.
 */
struct err *debug_package_find(const char *path, char **ret);

#endif
