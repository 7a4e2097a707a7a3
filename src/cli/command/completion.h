/* Completions of shells, made from the tables of commands and options. */
#ifndef MALLOW_CLI_COMMAND_COMPLETION_H
#define MALLOW_CLI_COMMAND_COMPLETION_H

#include <stdbool.h>

/* Prints that of "bash", "zsh" or "fish". false: there is none for such a shell. */
bool completion_put(const char *shell);

#endif
