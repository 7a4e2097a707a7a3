/* Several recordings as one, for a command: a line of text for each that cannot be opened. */
#ifndef MALLOW_CLI_MERGED_H
#define MALLOW_CLI_MERGED_H

#include <stdbool.h>

#include "analysis/merge/merge.h"
#include "cli/recording_paths.h"

struct merged {
	struct merge *merge; /* NULL: there is nothing to be shown, and why was printed */
	bool failed;         /* some of the recordings are not in it */
};

/* symbolizer: for the names of all of them, must outlive it. */
void merged_open(const struct recording_paths *paths, struct symbolizer *symbolizer,
		 struct merged *ret);
/* Accepts a zeroed struct. */
void merged_close(struct merged *merged);

#endif
