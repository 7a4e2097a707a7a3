/*
 * Settings of the agent as options of the commands that start programs: setting_options.def makes
 * the tables, in which the id of such an option is its enum setting.
 */
#ifndef MALLOW_CLI_SETTING_OPTIONS_H
#define MALLOW_CLI_SETTING_OPTIONS_H

#include "cli/options.h"
#include "settings/settings.h"

/*
 * false: a word is not allowed, and an error was printed. A typing error is found now, not by an
 * agent whose warning scrolls away.
 */
bool setting_options_check(const struct options *options);

/* As the agent will see it: the option, or the variable; NULL: neither was given, or is empty. */
const char *setting_options_word(const struct options *options, enum setting setting);

/* The value of that word; of one that is not allowed, or of none, the default's. */
uint64_t setting_options_value(const struct options *options, enum setting setting);

#endif
