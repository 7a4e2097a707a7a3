/* Opens a recording as `mallow check` judges it: what matches a filter, without suppressed leaks.
 */
#ifndef MALLOW_CLI_CHECKED_H
#define MALLOW_CLI_CHECKED_H

#include "analysis/leaks/suppressed.h"
#include "cli/filter_options.h"
#include "cli/loaded.h"
#include "cli/merged.h"

struct checked_wanted {
	const struct filter *filter;             /* NULL: all blocks */
	const struct suppressions *suppressions; /* NULL: none */
	struct naming naming;                    /* for the names of all recordings */
	bool growth; /* run facts are needed; not together with a filter */
};

/* Zeroed: closed. */
struct checked {
	const struct recording *recording;   /* the one to be judged */
	const struct recording_facts *facts; /* of the whole recording */
	struct symbolized *symbolized;
	/* What it is made of. */
	struct loaded loaded;
	struct merged merged;
	struct filter_view view;
	struct suppressed suppressed;
};

/* All checksums are compared. false: an error was printed. */
bool checked_open(const char *path, const struct checked_wanted *wanted, struct checked *ret);
/* The same for all recordings as one; wanted->filter must be NULL. */
bool checked_open_merged(const struct recording_paths *paths, const struct checked_wanted *wanted,
			 struct checked *ret);
/* Accepts a zeroed struct. */
void checked_close(struct checked *checked);

#endif
