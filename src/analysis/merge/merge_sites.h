/* Adds the sites of one recording after the other to a recording of their own: for merge.c. */
#ifndef MALLOW_ANALYSIS_MERGE_MERGE_SITES_H
#define MALLOW_ANALYSIS_MERGE_MERGE_SITES_H

#include "analysis/names/symbolized.h"
#include "analysis/recording_data.h"
#include "hosted/intern.h"
#include "hosted/map.h"

/* Zeroed but for `into`: empty. */
struct merge_sites {
	struct recording *into; /* the caller's; empty at first */
	struct intern strings;
	struct map files;              /* from interned path and build id to module */
	struct map places;             /* from the interned key of a frame to frame */
	VEC(struct frame_lines) lines; /* the names of each frame of `into` */
};

void merge_sites_deinit(struct merge_sites *merge);

/* Adds the sites of a recording. peaks: add their shares in the peak, too. */
struct err *merge_sites_add(struct merge_sites *merge, const struct recording *from,
			    struct symbolized *names, bool peaks);

/* To be called when everything was added. */
struct err *merge_sites_finish(struct merge_sites *merge);

#endif
