/* What `mallow run` says on stderr when the program has ended. */
#ifndef MALLOW_CLI_RUN_SUMMARY_H
#define MALLOW_CLI_RUN_SUMMARY_H

#include <stddef.h>

#include "cli/run_child.h"

/*
 * paths: the recordings that were begun; end: of the program itself. Never fails: what cannot be
 * shown is said so.
 */
void run_summary_print(const char *program, const struct run_child_end *end, char **paths,
		       size_t count);

#endif
