/*
 * `mallow attach`, once its options are read. ebpf_absent.c is in its place where mallow is built
 * without eBPF.
 */
#ifndef MALLOW_CLI_ATTACH_ATTACH_RUN_H
#define MALLOW_CLI_ATTACH_ATTACH_RUN_H

#include "cli/run/run_summary.h"
#include "ebpf/tracer.h"

struct attach_wanted {
	pid_t pid;
	struct tracer_options tracer;
	const char *output;   /* a pattern: settings/output_name.h */
	uint64_t duration_ns; /* 0: until the process ends, or a signal comes */
	bool open;            /* serve the recording meanwhile, and open a browser */
	struct run_finishing finishing;
};

/* Records the process, finishes the recording, and prints the summary. Returns the exit status. */
int attach_run(struct attach_wanted *wanted);

#endif
