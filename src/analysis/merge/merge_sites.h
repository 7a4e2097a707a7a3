/* The sites of one recording after the other, added up in a recording of their own: for merge.c. */
#ifndef MALLOW_ANALYSIS_MERGE_MERGE_SITES_H
#define MALLOW_ANALYSIS_MERGE_MERGE_SITES_H

#include "analysis/names/symbolized.h"
#include "analysis/recording_data.h"
#include "hosted/intern.h"
#include "hosted/map.h"

/* Zeroed but for `into`: empty. */
struct merge_sites {
	struct recording *into; /* the caller's, empty at first */
	struct intern strings;
	struct map files;              /* interned path and build id to module */
	struct map places;             /* interned key of a frame to frame */
	VEC(struct frame_lines) lines; /* of each frame of `into`: its names */
};

void merge_sites_deinit(struct merge_sites *merge);

/*
 * Adds the sites of a recording. With peaks: their shares in the peak, too, else these count as
 * nothing.
 */
struct err *merge_sites_add(struct merge_sites *merge, const struct recording *from,
			    struct symbolized *names, bool peaks);

/* Nothing is added any more. */
struct err *merge_sites_finish(struct merge_sites *merge);

#endif
