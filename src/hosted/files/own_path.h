/* Where the program that this process executes lies, and what lies beside it. */
#ifndef MALLOW_HOSTED_FILES_OWN_PATH_H
#define MALLOW_HOSTED_FILES_OWN_PATH_H

#include "hosted/err.h"

/*
 * The absolute path of the program. After "/proc/self/exe" of Linux; a program that was removed has
 * " (deleted)" at its end. The caller owns *ret (free()).
 */
struct err *own_path(char **ret);

/* The same of a file in the program's folder, or below or above that: "../lib/file". */
struct err *own_path_beside(const char *file, char **ret);

#endif
