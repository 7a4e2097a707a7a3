/* The limits of analysis/checks/checks.def as options of a command: peak is --max-peak. */
#ifndef MALLOW_CLI_OPTIONS_LIMIT_OPTIONS_H
#define MALLOW_CLI_OPTIONS_LIMIT_OPTIONS_H

#include "analysis/checks/verdicts.h"
#include "cli/options/options.h"

/* Rows of a command's options, its first ones: so their ids are those of enum check. */
#define LIMIT_OPTIONS_CHECK(NAME, name_, unit, metric, scope, value_, text_)                       \
	[CHECK_##NAME] = {.name = "max-" name_, .value = value_, .text = "at most so many " text_},

/*
 * Reads the limits. instead: the id of an option that makes limits, too. false: no limit was given,
 * and not that option; or a value is wrong; an error was printed.
 */
bool limit_options_read(const struct command *command, const struct options *options,
			size_t instead, struct check_limits *ret);

/*
 * *ret: the value of an option that is a percentage, as of percent_parse(); unchanged if it was not
 * given. false: it is none, and an error was printed.
 */
bool percent_option(const struct command *command, const struct options *options, size_t id,
		    uint64_t *ret);

#endif
