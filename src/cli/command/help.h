/* Help, made from the tables. */
#ifndef MALLOW_CLI_COMMAND_HELP_H
#define MALLOW_CLI_COMMAND_HELP_H

#include "cli/command/command.h"

/* Print on standard output. All return the exit status. */
int help_beginning(void); /* what people come for: of mallow alone, which is no command */
int help_overview(void);
int help_command(const struct command *command);

#endif
