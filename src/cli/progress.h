/*
 * A bar on stderr while something long is done; nothing at all when stderr is no terminal, or
 * when it is over within a third of a second.
 */
#ifndef MALLOW_CLI_PROGRESS_H
#define MALLOW_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what; /* borrowed */
	bool terminal;
	bool drawn;
	int percent; /* last drawn */
	uint64_t begun_ns;
};

void progress_init(struct progress *progress, const char *what);

/* A recording_progress. argument: struct progress. */
void progress_update(void *argument, uint64_t done, uint64_t total);

/* Wipes the bar away. */
void progress_deinit(struct progress *progress);

#endif
