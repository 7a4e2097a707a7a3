/* The name of the recording that `mallow attach` makes. */
#ifndef MALLOW_CLI_ATTACH_ATTACH_NAME_H
#define MALLOW_CLI_ATTACH_ATTACH_NAME_H

#include <sys/types.h>

#include "hosted/err.h"

/*
 * Fills in the placeholders of the pattern, makes the directories that are missing, and returns the
 * absolute path (free()). program: the process's.
 */
struct err *attach_name(const char *pattern, pid_t pid, const char *program, char **ret);

#endif
