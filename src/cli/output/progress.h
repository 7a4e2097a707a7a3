/*
 * A progress bar on stderr for something long. Nothing is drawn if stderr is no terminal, or if it
 * takes less than a third of a second.
 */
#ifndef MALLOW_CLI_OUTPUT_PROGRESS_H
#define MALLOW_CLI_OUTPUT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what; /* borrowed */
	bool terminal;
	bool drawn;
	int percent; /* as last drawn */
	uint64_t begun_ns;
};

void progress_init(struct progress *progress, const char *what);

/* A recording_progress. argument: struct progress. */
void progress_update(void *argument, uint64_t done, uint64_t total);

/* Removes the bar from the screen. */
void progress_deinit(struct progress *progress);

#endif
