/*
 * `mallow attach`, once its options are read. ebpf_absent.c is in its place where mallow is built
 * without eBPF.
 */
#ifndef MALLOW_CLI_ATTACH_ATTACH_RUN_H
#define MALLOW_CLI_ATTACH_ATTACH_RUN_H

#include <signal.h>

#include "cli/run/run_summary.h"
#include "ebpf/record/recorder.h"
#include "ebpf/tracer.h"

/* The signals that end a recording are blocked from attach_signals_take() on, until they are given
 * back. */
struct attach_signals {
	sigset_t before;
	int fd; /* readable when one has come; -1: none was to be had */
};
struct attach_signals attach_signals_take(void);
/* Signals that have come meanwhile are dropped: they have had their effect. */
void attach_signals_release(struct attach_signals *signals);

/*
 * Keeps a recorder going, for `mallow top`, too: records until the process has ended, or executed
 * another program, or a signal came, or that time (CLOCK_MONOTONIC in nanoseconds, 0: never); then
 * ends the recording. An error: it could not be written any more, and says so.
 */
struct err *attach_follow(struct recorder *recorder, const struct attach_signals *signals,
			  uint64_t until_ns, bool *ret_ended);

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
