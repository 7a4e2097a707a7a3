/* The files that `mallow core` is given: a program, and a core dump or raw dumps. */
#ifndef MALLOW_CLI_RECORDINGS_CORE_FILES_H
#define MALLOW_CLI_RECORDINGS_CORE_FILES_H

#include "cli/recordings/loaded.h"
#include "cli/options/options.h"

struct core_files_wanted {
	bool raw;     /* the dumps have no headers */
	bool foreign; /* the first operand is a program in a format of which we know nothing */
};

/* Zeroed: none. */
struct core_files {
	const char *program;      /* NULL: not given */
	const char *const *paths; /* the dumps; all operands behind the program */
	size_t count;
	struct core_files_wanted wanted;
	char *stored; /* the path found for a process's number, owned; NULL: none */
	const char *stored_list[1];
};

/* Sorts the operands. Returns the exit status; an error was printed. */
int core_files_find(const struct options *options, const struct core_files_wanted *wanted,
		    struct core_files *ret);
/* Accepts a zeroed struct. */
void core_files_deinit(struct core_files *files);

/*
 * Opens the dumps with blocks and names. The program, if it was given, must be the one that ran.
 * false: an error was printed.
 */
bool core_files_open(const struct core_files *files, struct naming *naming, struct loaded *ret);

#endif
