/* The file of --suppressions. */
#ifndef MALLOW_CLI_SUPPRESSIONS_FILE_H
#define MALLOW_CLI_SUPPRESSIONS_FILE_H

#include "analysis/leaks/suppressions.h"
#include "hosted/buf.h"

/*
 * Reads the file, which may be a pipe. text: gets its text, too; NULL: not wanted. An error: it
 * cannot be read, or a line is no suppression.
 */
struct err *suppressions_file_read(const char *path, struct buf *text, struct suppressions **ret);

#endif
