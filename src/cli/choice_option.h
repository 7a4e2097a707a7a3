/* An option whose value is one of the words of its `choices`. */
#ifndef MALLOW_CLI_CHOICE_OPTION_H
#define MALLOW_CLI_CHOICE_OPTION_H

#include "cli/options.h"

/*
 * *ret: which of its words was given, from 0, as it is if the option was not. false: it is none of
 * these, and an error was printed.
 */
bool choice_option(const struct command *command, const struct options *options, size_t id,
		   int *ret);

#endif
