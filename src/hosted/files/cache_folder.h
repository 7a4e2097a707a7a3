/*
 * Where files belong that may be lost: $XDG_CACHE_HOME/mallow, else ~/.cache/mallow; and for files
 * without a name also $TMPDIR and /tmp.
 */
#ifndef MALLOW_HOSTED_FILES_CACHE_FOLDER_H
#define MALLOW_HOSTED_FILES_CACHE_FOLDER_H

#include <stdbool.h>

/*
 * The path of our folder among the user's caches; the caller owns it (free()). make: it is made
 * where it is missing. NULL: there is none, or it could not be made.
 */
char *cache_folder_path(bool make);

/*
 * A new file without a name, open for reading and writing: gone when it is closed and unmapped.
 * Below 0: none could be made anywhere.
 */
int cache_folder_nameless(void);

#endif
