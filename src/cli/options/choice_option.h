/* An option whose value is one of the words of its `choices`. */
#ifndef MALLOW_CLI_OPTIONS_CHOICE_OPTION_H
#define MALLOW_CLI_OPTIONS_CHOICE_OPTION_H

#include "cli/options/options.h"

/*
 * *ret: the index of the word that was given; unchanged if the option was not given. false: the
 * value is none of the words, and an error was printed.
 */
bool choice_option(const struct command *command, const struct options *options, size_t id,
		   int *ret);

#endif
