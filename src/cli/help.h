/* Help, made from the tables. */
#ifndef MALLOW_CLI_HELP_H
#define MALLOW_CLI_HELP_H

#include "cli/command.h"

/* Print on standard output. Both return the exit status. */
int help_overview(void);
int help_command(const struct command *command);

#endif
