/* One process that `mallow memleak` traces: attached, reported, and attached again after exec. */
#ifndef MALLOW_CLI_MEMLEAK_MEMLEAK_PROCESS_H
#define MALLOW_CLI_MEMLEAK_MEMLEAK_PROCESS_H

#include "cli/memleak/memleak_run.h"
#include "ebpf/code_names.h"
#include "hosted/buf.h"

/* What is common to all processes. */
struct memleak_around {
	const struct memleak_wanted *wanted;
	struct buf *out, *notes; /* for reports and lines of -t; for what concerns the tracing */
	void *argument;
	void (*on_fork)(void *argument, pid_t child); /* a process has that child */
};

struct memleak_process {
	const struct memleak_around *around;
	pid_t pid;
	char name[32];
	int ended; /* a descriptor that is readable once the process has ended; -1: none */
	struct tracer *tracer; /* NULL: not yet, or it has executed another program */
	struct code_names *names;
	uint64_t retry_until; /* without a tracer: how long to try */
	bool gone;            /* it cannot be traced any more */
	bool executed;        /* another program: memleak_process_start_again() */
	bool fresh;           /* a child that was not traced yet */
};

/* Not attached yet. around must outlive it. */
struct err *memleak_process_create(const struct memleak_around *around, pid_t pid,
				   struct memleak_process **ret);
/* Accepts NULL. */
void memleak_process_destroy(struct memleak_process *process);

struct err *memleak_process_attach(struct memleak_process *process);
/*
 * Attaches to a child, or to the program that the process executes now: what the old one had is
 * gone. If that fails, it can be tried again; when it has failed for long, it is said, and the
 * process is gone.
 */
void memleak_process_start_again(struct memleak_process *process);

/* Says what was hooked, a line for each module, and what could not be. */
void memleak_process_say_hooked(const struct memleak_process *process);
/* Calls on_fork() for the children that it has already. */
void memleak_process_add_children(struct memleak_process *process);
bool memleak_process_has_ended(const struct memleak_process *process);

/* ended: the process is over, so the age of its blocks says nothing any more. */
struct err *memleak_process_report(const struct memleak_process *process, bool ended);

#endif
