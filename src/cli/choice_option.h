/* An option whose value is one of some words. */
#ifndef MALLOW_CLI_CHOICE_OPTION_H
#define MALLOW_CLI_CHOICE_OPTION_H

#include "cli/options.h"

/*
 * *ret: the index of the word that was given, as it is if the option was not. false: it is none of
 * these, and an error was printed.
 */
bool choice_option(const struct command *command, const struct options *options, size_t id,
		   const char *const *words, size_t count, int *ret);

#endif
