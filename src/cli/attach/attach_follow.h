/* Keeps a recorder going: what `mallow attach` and `mallow top` share. */
#ifndef MALLOW_CLI_ATTACH_ATTACH_FOLLOW_H
#define MALLOW_CLI_ATTACH_ATTACH_FOLLOW_H

#include <signal.h>

#include "ebpf/record/recorder.h"

/* The signals that end it are blocked from attach_signals_take() on, until they are given back. */
struct attach_signals {
	sigset_t before;
	int fd; /* readable when one has come; -1: none was to be had */
};
struct attach_signals attach_signals_take(void);
/* Signals that have come meanwhile are dropped: they have had their effect. */
void attach_signals_release(struct attach_signals *signals);

/*
 * Records until the process has ended, or executed another program, or a signal came, or that time
 * (CLOCK_MONOTONIC in nanoseconds, 0: never); then ends the recording. An error: it could not be
 * written any more, and says so.
 */
struct err *attach_follow(struct recorder *recorder, const struct attach_signals *signals,
			  uint64_t until_ns, bool *ret_ended);

#endif
