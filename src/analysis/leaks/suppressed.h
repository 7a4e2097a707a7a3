/* A recording without the leaks that are suppressed: suppressions.h. */
#ifndef MALLOW_ANALYSIS_LEAKS_SUPPRESSED_H
#define MALLOW_ANALYSIS_LEAKS_SUPPRESSED_H

#include "analysis/leaks/suppressions.h"
#include "analysis/names/symbolized.h"

/* What leaked, of some sites. */
struct suppressed_sum {
	uint64_t sites, blocks, bytes;
};

struct suppressed {
	const struct suppressions *suppressions;
	/*
	 * To be closed, before the one it is made of, from which it has all but sites and summary:
	 * the leaked bytes and blocks of a suppressed site are 0, and so many fewer there are in
	 * the summary. All else is as it was, also what is live at the end.
	 */
	struct recording *recording;
	struct suppressed_sum *sums; /* of each suppression */
	struct suppressed_sum all;
	/* Of each stack, the empty one in front of them: the number of its suppression + 1. */
	uint32_t *stacks;
};

/* symbolized: of the recording, or of the one that it is made of. */
struct err *suppressed_create(const struct suppressions *suppressions,
			      const struct recording *recording, struct symbolized *symbolized,
			      struct suppressed *ret);
/* Accepts a zeroed struct. */
void suppressed_deinit(struct suppressed *suppressed);

#endif
