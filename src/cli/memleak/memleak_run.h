/*
 * `mallow memleak`, once its options are read. ebpf_absent.c is in its place where mallow is
 * built without eBPF.
 */
#ifndef MALLOW_CLI_MEMLEAK_MEMLEAK_RUN_H
#define MALLOW_CLI_MEMLEAK_MEMLEAK_RUN_H

#include "ebpf/tracer.h"

/* What was asked for. */
struct memleak_wanted {
	struct tracer_options tracer;
	const char *command; /* to be run; NULL: trace pid */
	pid_t pid;           /* 0, without a command: trace the kernel's own memory … */
	bool percpu;         /* … of processors, too */
	bool all_pages;      /* … also pages of programs and files, by stack */
	bool follow;
	uint64_t older_ns;
	bool older_given; /* else it does not count once the process has ended */
	uint64_t interval_ns;
	uint64_t count; /* of reports; 0: until the process ends */
	uint64_t top;   /* stacks shown; 0: all */
	bool list_blocks;
	bool by_count;
	bool addresses;
	bool json;
};

/* Starts the program if there is one to be started, and traces. Returns the exit status. */
int memleak_run(struct memleak_wanted *wanted);

#endif
