/* What a command compares: a recording as a whole, or what moment and filter leave of it. */
#ifndef MALLOW_CLI_DIFF_SOURCE_H
#define MALLOW_CLI_DIFF_SOURCE_H

#include "cli/diff_operand.h"
#include "cli/filter_options.h"
#include "cli/loaded.h"

/* Zeroed: empty. */
struct diff_source {
	struct diff_operand operand;
	struct filter *filter; /* NULL: all blocks */
	struct loaded loaded;
	struct filter_view view;
};

void diff_source_deinit(struct diff_source *source);

/* Reads an operand, and the filter for it, into the empty *ret. An error was printed: CLI_USAGE. */
int diff_source_read(const struct command *command, const struct options *options,
		     const char *typed, struct diff_source *ret);

/* Opens it, with names. naming must outlive it. false: an error was printed. */
bool diff_source_open(struct diff_source *source, const struct naming *naming);

/* What is compared, when it is open. */
const struct recording *diff_source_recording(const struct diff_source *source);

#endif
