/*
 * Runs the program as a child of `mallow run`. It has the signal mask and dispositions that the
 * tool was started with, and is in the tool's process group, so the terminal behaves as without
 * mallow.
 *
 * Signals: the kernel sends the terminal's (ctrl-C's SIGINT, SIGWINCH, …) to the whole foreground
 * group. The program has these already, so the tool does not forward them. A signal that another
 * process sends to the tool (kill, timeout, a service manager) is forwarded. One that the program
 * sends to its parent is not sent back. When ctrl-Z stops the program, the tool stops too, so that
 * the shell sees a stopped job.
 */
#ifndef MALLOW_CLI_RUN_RUN_CHILD_H
#define MALLOW_CLI_RUN_RUN_CHILD_H

#include <stdint.h>
#include <sys/types.h>

struct run_child_end {
	int number;      /* the errno why the program could not be executed, 0: it ran */
	int wait_status; /* from waitpid() */
	pid_t pid;
	uint64_t process_start; /* proc.h; 0: not known */
	uint64_t ended_ns;      /* when waitpid() told, CLOCK_MONOTONIC */
	/*
	 * The most that was resident at once, in bytes: of the program and of all that it waited
	 * for; and of the tool before it became the program, which counts in the former, too.
	 */
	uint64_t peak, peak_before;
};

/*
 * Runs the program to its end. inherited: a close-on-exec descriptor that the program gets. Returns
 * 0, or the errno why no child could be made; then *ret is unchanged.
 */
int run_child(const char *path, char **argv, char **environment, int inherited,
	      struct run_child_end *ret);

/*
 * The tool's exit status, as a shell's would be: the program's own status, or 128 + n for signal n.
 */
int run_child_status(const struct run_child_end *end);

#endif
