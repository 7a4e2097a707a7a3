/* The file of --suppressions. */
#ifndef MALLOW_CLI_OPTIONS_SUPPRESSIONS_FILE_H
#define MALLOW_CLI_OPTIONS_SUPPRESSIONS_FILE_H

#include "analysis/leaks/suppressions.h"

/* Reads the file, which may be a pipe. An error: it cannot be read, or a line is no suppression. */
struct err *suppressions_file_read(const char *path, struct suppressions **ret);

#endif
