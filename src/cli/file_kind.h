/* Tells what a file is that was given as a recording and is none. */
#ifndef MALLOW_CLI_FILE_KIND_H
#define MALLOW_CLI_FILE_KIND_H

#include "hosted/err.h"

/*
 * NULL: the file begins as a recording does. Else an error says what it is: "is an ELF executable",
 * "is empty", "is a directory", or that it cannot be opened.
 */
struct err *file_kind_check(const char *path);

#endif
