/* What `mallow top` looks at: a recording, or the one that a process has open. */
#ifndef MALLOW_CLI_TOP_SOURCE_H
#define MALLOW_CLI_TOP_SOURCE_H

#include "hosted/err.h"

/*
 * Opens what was typed (close()): the number of a process that runs under `mallow live` or `mallow
 * run`, or of one of these themselves, else a file. The descriptor stays readable when the process
 * has ended.
 */
struct err *top_source_open(const char *typed, int *ret);

#endif
