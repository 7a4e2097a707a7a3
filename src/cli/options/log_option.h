/* --log LEVEL, or MALLOW_LOG: what the tool tells of its own work. */
#ifndef MALLOW_CLI_OPTIONS_LOG_OPTION_H
#define MALLOW_CLI_OPTIONS_LOG_OPTION_H

#include <stdbool.h>

/*
 * Has look-ups of names tell on stderr where they looked, and why files were refused
 * (symbols/symbol_log.h), if the level is debug or trace; no other level has lines of the tool.
 * Before any thread starts. false: it is no level of MALLOW_LOG, and nothing changes. NULL is none.
 */
bool log_option_choose(const char *level);

#endif
