/*
 * The agent's settings as options of the commands that start programs. setting_options.def makes
 * their tables; the id of such an option is its enum setting.
 */
#ifndef MALLOW_CLI_OPTIONS_SETTING_OPTIONS_H
#define MALLOW_CLI_OPTIONS_SETTING_OPTIONS_H

#include "cli/options/options.h"
#include "settings/settings.h"

/*
 * false: an option has a word that is not allowed, and an error was printed. Typing errors are
 * found here, because the agent's warning would scroll away.
 */
bool setting_options_check(const struct options *options);

/*
 * Says which MALLOW_ variables of the environment are none, once for a run. The agent does so
 * without the tool.
 */
void setting_options_say_mistyped(void);

/*
 * The word that the agent will see: the option's, else the variable's. NULL: neither was given, or
 * it is empty.
 */
const char *setting_options_word(const struct options *options, enum setting setting);

/*
 * The value of that word, as setting_parse() gives it. If there is no word, or it is not allowed:
 * the default's value.
 */
uint64_t setting_options_value(const struct options *options, enum setting setting);

#endif
