/* The functions by which a recording has more than an older one, for verdicts.c. */
#ifndef MALLOW_ANALYSIS_CHECKS_GROWN_H
#define MALLOW_ANALYSIS_CHECKS_GROWN_H

#include "analysis/breakdown/places.h"
#include "analysis/checks/verdicts.h"
#include "hosted/arena.h"

/* What is the same for all metrics. Zeroed: empty. */
struct grown {
	struct diff *diff;     /* both recordings; NULL: not made yet */
	struct places places;  /* of the newer one, which has more */
	const char **function; /* of each place its function's name */
	struct arena names;
};

void grown_deinit(struct grown *grown);

/*
 * Fills in the places of the verdict: the functions that grew most, with the line that has most of
 * each. Both recordings are compared when grown is empty; it must be asked about these two only.
 * Frames live as long as grown->diff and symbolized.
 */
struct err *grown_find(struct grown *grown, const struct check_baseline *baseline,
		       const struct recording *recording, struct symbolized *symbolized,
		       struct verdict *verdict);

#endif
