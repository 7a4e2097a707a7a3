/*
 * What a command compares: a recording as a whole, or what moment, filter and suppressions leave of
 * it, or several recordings as one.
 */
#ifndef MALLOW_CLI_RECORDINGS_DIFF_SOURCE_H
#define MALLOW_CLI_RECORDINGS_DIFF_SOURCE_H

#include "cli/options/moment_operand.h"
#include "cli/recordings/narrowed.h"

/* What is the same for both sides. */
struct diff_source_wanted {
	struct naming naming;                    /* must outlive the sources */
	const struct suppressions *suppressions; /* NULL: none; must outlive the sources */
	bool merge;                              /* all recordings of a directory are one */
};

/* Zeroed: empty. */
struct diff_source {
	struct moment_operand operand;
	struct filter *filter; /* NULL: all blocks */
	struct recording_paths paths;
	struct narrowed narrowed; /* what is compared, when it is open */
};

void diff_source_deinit(struct diff_source *source);

/*
 * Reads an operand, and the filter for it, into the empty *ret. merge: it may have no moment. An
 * error was printed: CLI_USAGE.
 */
int diff_source_read(const struct command *command, const struct options *options,
		     const char *typed, bool merge, struct diff_source *ret);

/* Opens it, with names. false: an error was printed. */
bool diff_source_open(struct diff_source *source, const struct diff_source_wanted *wanted);

#endif
