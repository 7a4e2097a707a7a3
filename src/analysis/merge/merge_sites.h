/*
 * Adds the sites of one recording after the other to a recording of their own: for merge.c and
 * analysis/diff.
 *
 * When stacks of two recordings are the same:
 *	usually		files (path and build id) and addresses in them are the same
 *	by name		modules, functions and source files have the same names, as in two builds of
 *			a program; of modules that all recordings have in one build, addresses, too
 */
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
	bool by_name;
	struct map parts; /* by name: from the interned name of a script's file to parts of paths */
	struct map
		builds; /* by name: from interned build to a bit for each recording that has it */
	uint64_t all;   /* … the bits of all recordings */
};

void merge_sites_deinit(struct merge_sites *merge);

#define MERGE_SITES_BY_NAME 63 /* so many recordings at most are matched by name */

/*
 * Stacks are the same by name from now on. To be called before the first recording is added, with
 * all that will be. An error: they are too many, or no memory.
 */
struct err *merge_sites_by_name(struct merge_sites *merge, const struct recording *const *all,
				size_t count);

/*
 * Adds the sites of a recording. peaks: add their shares in the peak, too. places: set to the index
 * of the merged site for each of its sites; NULL: not wanted.
 */
struct err *merge_sites_add(struct merge_sites *merge, const struct recording *from,
			    struct symbolized *names, bool peaks, uint32_t *places);

/* Adds the sums of a site to those of another. */
void merge_sites_sum(struct site *to, const struct site *from);

/* To be called when everything was added. */
struct err *merge_sites_finish(struct merge_sites *merge);

#endif
