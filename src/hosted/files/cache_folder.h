/*
 * The folder for files that may be lost: $XDG_CACHE_HOME/mallow, else ~/.cache/mallow. Files
 * without a name may also be in $TMPDIR or /tmp.
 */
#ifndef MALLOW_HOSTED_FILES_CACHE_FOLDER_H
#define MALLOW_HOSTED_FILES_CACHE_FOLDER_H

#include <stdbool.h>

/*
 * The path of the folder; the caller owns it (free()). make: create the folder if it is missing.
 * NULL: it has no place, or could not be created.
 */
char *cache_folder_path(bool make);

/*
 * The descriptor of a new file without a name, for reading and writing; the caller closes it. The
 * file is gone once it is closed and unmapped. Below 0: it could not be created anywhere.
 */
int cache_folder_nameless(void);

#endif
