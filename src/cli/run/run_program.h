/*
 * Finds the program that `mallow run` is to start, as a shell would, and checks before it is
 * started whether the agent can be loaded into it.
 */
#ifndef MALLOW_CLI_RUN_RUN_PROGRAM_H
#define MALLOW_CLI_RUN_RUN_PROGRAM_H

#include <stdbool.h>

/*
 * Returns CLI_OK and the path to execute in *ret (free()); else the exit status, and an error was
 * printed. arguments: the program's name and its arguments; with `ld.so [OPTIONS] PROGRAM` that
 * program is checked, too. library: the agent's path; a program for another kind of machine cannot
 * load it.
 */
int run_program_find(char *const *arguments, const char *library, char **ret);

/* Whether a shell would find a program of that name. */
bool run_program_exists(const char *name);

#endif
