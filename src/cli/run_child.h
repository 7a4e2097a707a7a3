/*
 * The program as a child of `mallow run`: started with the signal mask and dispositions that the
 * tool itself was given, in the tool's process group, so that the terminal is as much its own as
 * without mallow.
 *
 * Signals. What the terminal generates (SIGINT of ctrl-C, SIGWINCH, …) the kernel sends to the
 * whole foreground group: the program has it already, and nothing is forwarded. What another
 * process sends to the tool alone (kill, timeout, a service manager) is handed on. What the
 * program itself sent to its parent is not handed back. When the program stops for ctrl-Z, the
 * tool stops too, so that the shell sees a stopped job.
 */
#ifndef MALLOW_CLI_RUN_CHILD_H
#define MALLOW_CLI_RUN_CHILD_H

#include <sys/types.h>

struct run_child_end {
	int number;      /* errno why the program could not be executed, 0: it ran */
	int wait_status; /* as waitpid() gives it */
	pid_t pid;
};

/* Runs to the end. 0, or the errno why no child could be made; then *ret is untouched. */
int run_child(const char *path, char **argv, char **environment, struct run_child_end *ret);

/* What the tool exits with, as a shell would: the program's own status, 128 + n of signal n. */
int run_child_status(const struct run_child_end *end);

#endif
