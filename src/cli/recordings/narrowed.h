/*
 * Opens a recording, or several as one, for what is compared or judged: the blocks that match a
 * filter, without suppressed leaks. A diff_source is that as an operand says it, RECORDING@MOMENT.
 */
#ifndef MALLOW_CLI_RECORDINGS_NARROWED_H
#define MALLOW_CLI_RECORDINGS_NARROWED_H

#include "analysis/leaks/suppressed.h"
#include "cli/options/filter_options.h"
#include "cli/options/moment_operand.h"
#include "cli/recordings/loaded.h"
#include "cli/recordings/merged.h"

struct narrowed_wanted {
	const struct filter *filter;             /* NULL: all blocks */
	const struct suppressions *suppressions; /* NULL: none */
	struct naming naming;                    /* for the names of all recordings */
	unsigned int needs; /* enum recording_needs, besides those of the filter */
};

/* Zeroed: closed. */
struct narrowed {
	const struct recording *recording;   /* what is left */
	const struct recording_facts *facts; /* of the whole recording */
	struct symbolized *symbolized;
	/* What it is made of. */
	struct loaded loaded;
	struct merged merged;
	struct filter_view view;
	struct suppressed suppressed; /* recording NULL: there are no suppressions */
};

/* false: an error was printed. */
bool narrowed_open(const char *path, const struct narrowed_wanted *wanted, struct narrowed *ret);
/*
 * The same for all recordings as one; wanted->filter must be NULL, and wanted->needs is not looked
 * at. ret->merged.failed: some are not in it.
 */
bool narrowed_open_merged(const struct recording_paths *paths, const struct narrowed_wanted *wanted,
			  struct narrowed *ret);
/* Accepts a zeroed struct. */
void narrowed_close(struct narrowed *narrowed);

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
