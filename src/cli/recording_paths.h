/* Finds the recordings that a command's operands name: files, and all recordings in directories. */
#ifndef MALLOW_CLI_RECORDING_PATHS_H
#define MALLOW_CLI_RECORDING_PATHS_H

#include <stdbool.h>

#include "cli/options.h"
#include "hosted/vec.h"

/* Zeroed: empty. */
struct recording_paths {
	VEC(char *) items;  /* owned */
	bool directories;   /* at least one operand was a directory */
	bool empty_allowed; /* set by the caller: an empty directory is no failure */
	bool failed;        /* one could not be read, or had none; an error was printed */
};

void recording_paths_deinit(struct recording_paths *paths);

/* Adds a file, or all recordings in a directory, as below. */
struct err *recording_paths_add(const char *path, struct recording_paths *paths);

/*
 * Adds what all operands name. In a directory, every regular file that begins as a recording does
 * is taken, in the order in which the recordings began. Other files are skipped; an error is
 * printed for those that cannot be read.
 */
struct err *recording_paths_find(const struct options *options, struct recording_paths *paths);

#endif
