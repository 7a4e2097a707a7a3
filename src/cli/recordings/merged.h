/*
 * Opens several recordings as one, for a command. Prints a line for each that cannot be opened, and
 * for each that is damaged or cut.
 */
#ifndef MALLOW_CLI_RECORDINGS_MERGED_H
#define MALLOW_CLI_RECORDINGS_MERGED_H

#include <stdbool.h>

#include "analysis/merge/merge.h"
#include "cli/recordings/recording_paths.h"

struct merged {
	struct merge *merge; /* NULL: nothing can be shown; an error was printed */
	bool failed;         /* some recordings are not in it */
};

/* naming: for the names of all recordings; must outlive *ret. */
void merged_open(const struct recording_paths *paths, const struct naming *naming,
		 struct merged *ret);
/* Accepts a zeroed struct. */
void merged_close(struct merged *merged);

#endif
