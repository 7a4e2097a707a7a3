/* What can be found out about the descriptors that the tool writes to, and a progress bar. */
#ifndef MALLOW_CLI_OUTPUT_TERMINAL_H
#define MALLOW_CLI_OUTPUT_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "report/words/style.h"

#define TERMINAL_PAGE  80 /* columns of a text that goes to no terminal */
#define TERMINAL_LEAST 40 /* of a narrower terminal, which wraps lines itself */

#define TERMINAL_COLOURS "auto always never"

/* Chooses for all styles from now on: one of these words. false: it is none. */
bool terminal_choose_colours(const char *when);

/*
 * The style for text written to fd. Only a terminal has a width, and colours if none were chosen;
 * no colours with NO_COLOR or TERM=dumb. exact and full are false.
 */
struct style terminal_style(int fd);
/* The same for a page: what goes to no terminal is TERMINAL_PAGE wide. */
struct style terminal_page(int fd);

/*
 * A progress bar on stderr for something long. Nothing is drawn if stderr is no terminal, or if it
 * takes less than a third of a second.
 */
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
