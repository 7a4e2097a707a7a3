/* Finds the recordings that a command's operands name: files, and all recordings in directories. */
#ifndef MALLOW_CLI_RECORDINGS_RECORDING_PATHS_H
#define MALLOW_CLI_RECORDINGS_RECORDING_PATHS_H

#include <stdbool.h>

#include "cli/options/options.h"
#include "hosted/vec.h"

/* Zeroed: empty. */
struct recording_paths {
	VEC(char *) items;  /* owned */
	bool directories;   /* at least one operand was a directory */
	bool empty_allowed; /* set by the caller: an empty directory is no failure */
	bool failed;        /* a directory could not be opened, or had none; an error was printed */
};

void recording_paths_deinit(struct recording_paths *paths);

/* Adds a file, or all recordings in a directory, as below. */
struct err *recording_paths_add(const char *path, struct recording_paths *paths);

/*
 * Adds what all operands name. Of a directory come, in the order in which the recordings began, all
 * files that begin as a recording does. Behind them come the entries that may be recordings, and of
 * which whoever opens them has to say why they are none: all that are called NAME.mallow or
 * NAME.mallow.PID.N, and files that cannot be read. Others are skipped.
 */
struct err *recording_paths_find(const struct options *options, struct recording_paths *paths);

#endif
