/*
 * Finds what `mallow top` shows: a recording, one that a process has open, or one that is made of a
 * process by attaching to it.
 */
#ifndef MALLOW_CLI_LIVE_TOP_SOURCE_H
#define MALLOW_CLI_LIVE_TOP_SOURCE_H

#include "cli/attach/attach_background.h"

/* Zeroed: nothing is attached. */
struct top_source {
	int fd; /* readable also after the process has ended; the caller's to close */
	struct attach_background attached;
};

/*
 * Opens what was typed: the number of a process under `mallow live` or `mallow run`, or of such a
 * mallow itself; else a file. To any other process it attaches, until top_source_end().
 */
struct err *top_source_open(const char *typed, struct top_source *ret);
void top_source_end(struct top_source *source);

#endif
