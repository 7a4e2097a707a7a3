/* --plumbing FILE: which frames are no own code, beside those of plumbing.def. */
#ifndef MALLOW_CLI_OPTIONS_PLUMBING_OPTION_H
#define MALLOW_CLI_OPTIONS_PLUMBING_OPTION_H

#include "analysis/names/plumbing.h"

/* A row of a command's options. */
#define PLUMBING_OPTION                                                                            \
	{                                                                                          \
		.name = "plumbing", .value = "FILE",                                               \
		.text = "frames that are not your own code, beside those of allocators and "       \
			"standard "                                                                \
			"libraries: lines module:PATTERN, function:PATTERN, file:PATTERN"          \
	}

/*
 * *ret: with what the file of the option says; path NULL: nothing is done. It may be a pipe. An
 * error: it cannot be read, or has a line that is none.
 */
struct err *plumbing_option_read(const char *path, struct plumbing **ret);

#endif
