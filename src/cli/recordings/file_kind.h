/* Tells what a file is that was given as a recording and is none. */
#ifndef MALLOW_CLI_RECORDINGS_FILE_KIND_H
#define MALLOW_CLI_RECORDINGS_FILE_KIND_H

#include "hosted/err.h"

/*
 * NULL: the file begins as a recording does, as a core dump, or as what mallow imports. Else an
 * error says what it is: "is an ELF executable", "is empty", "is a directory", or that it cannot be
 * opened.
 */
struct err *file_kind_check(const char *path);

/*
 * The same for a command that works on the file itself: core dumps and what mallow imports are
 * refused, too. why: "cannot be finished".
 */
struct err *file_kind_check_own(const char *path, const char *why);

#endif
