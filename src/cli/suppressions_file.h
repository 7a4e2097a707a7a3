/* The file of --suppressions. */
#ifndef MALLOW_CLI_SUPPRESSIONS_FILE_H
#define MALLOW_CLI_SUPPRESSIONS_FILE_H

#include "analysis/leaks/suppressions.h"

/* May be a pipe. An error: it cannot be read, or has a line that is no suppression. */
struct err *suppressions_file_read(const char *path, struct suppressions **ret);

#endif
