/*
 * Executing the tool, in a process that was made by vfork: it shares our memory until the exec, and
 * may only make system calls by syscall_raw().
 */
#ifndef MALLOW_AGENT_HELPER_TOOL_H
#define MALLOW_AGENT_HELPER_TOOL_H

#include <stdbool.h>

#include "base/compiler.h"

/* An exit status, beside those of the tool: it was not executed. */
#define TOOL_NO_EXEC 126

#define TOOL_MISSING ENOENT /* in place of an error of clone(): the tool cannot be executed */

struct tool {
	const char *const *arguments; /* the tool's path first; ended by NULL */
	int fd;             /* the recording's: from 3 on it gets only this and the registry */
	int output;         /* its standard output; -1: the program's */
	bool stderr_is_own; /* log_stderr_is_own() */
	bool alone; /* a session of its own, without the program's standard input and output */
	int error;  /* of the exec, if that failed */
};

/*
 * The environment of the tool: the MALLOW_ variables, and those of the program that the tool needs,
 * as they were at the start. No LD_PRELOAD. Ended by NULL. Set by life/environment.c before the
 * first start.
 */
extern char *const *tool_environment hidden;

/* Finds the tool beside this library, where both may be moved (tool.c). Once, at the start. */
void tool_find(void);

/* MALLOW_HELPER, or the installed tool. */
const char *tool_path(void);

/*
 * Closes the descriptors from `first` on but fd and the registry's, which the tool inherits, too.
 * By syscall_raw().
 */
void tool_close_others(int first, int fd);

/* Executes it. */
void tool_execute(struct tool *tool) __attribute__((noreturn));

/*
 * Starts the process that makes the one above by vfork: it shares our memory, runs
 * function(argument) on the stack that ends at `end`, and its end sends no signal, so that the
 * program's wait() passes it by. Returns its pid, or the negative error: -TOOL_MISSING if the tool
 * cannot be executed.
 */
long tool_start_keeper(const struct tool *tool, void *end, void (*function)(void *argument),
		       void *argument);

/*
 * In that process: makes the one that executes the tool, which has its stack below ours. Returns
 * its pid, or the negative error.
 */
long tool_vfork(struct tool *tool);

#endif
