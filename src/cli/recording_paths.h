/* The recordings that a command's operands name: files, and directories for all that are in them.
 */
#ifndef MALLOW_CLI_RECORDING_PATHS_H
#define MALLOW_CLI_RECORDING_PATHS_H

#include <stdbool.h>

#include "cli/options.h"
#include "hosted/vec.h"

/* Zeroed: empty. */
struct recording_paths {
	VEC(char *) items;  /* owned */
	bool directories;   /* at least one operand was a directory */
	bool empty_allowed; /* set by the caller: a directory without any is no failure */
	bool failed;        /* one of them could not be read, or had none: an error was printed */
};

void recording_paths_deinit(struct recording_paths *paths);

/*
 * Of a directory every regular file that begins as a recording does, the one that began first in
 * front; files of other kinds are passed over, those that cannot be read are complained of.
 */
struct err *recording_paths_find(const struct options *options, struct recording_paths *paths);

#endif
