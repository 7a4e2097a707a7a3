/* The option --debug-symbols of the commands that show names. */
#ifndef MALLOW_CLI_OPTIONS_DEBUG_SYMBOLS_OPTION_H
#define MALLOW_CLI_OPTIONS_DEBUG_SYMBOLS_OPTION_H

#include "cli/options/options.h"
#include "symbols/symbolizer.h"

#define DEBUG_SYMBOLS_OPTION                                                                       \
	{                                                                                          \
		.name = "debug-symbols", .letter = 'd', .value = "PATH",                           \
		.text = "a debug file, or a directory of them as /usr/lib/debug is one, for "      \
			"recordings without names of their own; may be given many times",          \
		.many = true                                                                       \
	}

/*
 * Checks the paths, which are options->many. false: one cannot be read, and an error was printed.
 */
bool debug_symbols_check(const struct options *options);

/*
 * Makes a symbolizer that searches these paths, for all recordings of a command. The caller owns
 * it. false: an error was printed.
 */
bool debug_symbols_open(const struct options *options, struct symbolizer **ret);

#endif
