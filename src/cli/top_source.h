/* Finds what `mallow top` shows: a recording, or one that a process has open. */
#ifndef MALLOW_CLI_TOP_SOURCE_H
#define MALLOW_CLI_TOP_SOURCE_H

#include "hosted/err.h"

/*
 * Opens what was typed: the number of a process under `mallow live` or `mallow run`, or of such a
 * mallow itself; else a file. *ret: a descriptor for the caller to close, readable also after the
 * process has ended.
 */
struct err *top_source_open(const char *typed, int *ret);

#endif
