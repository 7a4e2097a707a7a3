/*
 * The sites of a recording put together by what a reader sees of them in one line: the place in own
 * code that asked for memory, and the call that it made there. Sites that differ only inside that
 * call, or in who called the place, are one row.
 */
#ifndef MALLOW_ANALYSIS_GROUPS_PLACES_H
#define MALLOW_ANALYSIS_GROUPS_PLACES_H

#include "analysis/groups/block_groups.h"
#include "analysis/names/own_code.h"
#include "analysis/sites/metric.h"

struct place {
	/*
	 * Sums of all its sites. stack: that of the site that has most of the metric.
	 * own_peak_bytes is 0, unless it is one site.
	 */
	struct site sum;
	uint32_t site;        /* index of that site */
	struct own_code code; /* of that site */
	const char *name;     /* its function's, as in struct block_groups */
	uint32_t first; /* its sites are sites[first] … sites[first + count - 1] of struct places */
	uint32_t count;
};

/* Zeroed: empty. */
struct places {
	struct place *items; /* by the metric, the largest first; without those that have nothing */
	uint32_t count;
	uint32_t *sites;            /* indices of recording_sites() */
	struct block_groups groups; /* has the names */
};

/* *ret: empty. Frames in it live as long as symbolized. */
struct err *places_create(const struct recording *recording, struct symbolized *symbolized,
			  enum metric metric, struct places *ret);
void places_deinit(struct places *places);

#endif
