/*
 * Merges several recordings into one: the processes of a tree, or runs of one program. Sites are
 * merged if their stacks are the same: the same files (path and build id) and places in them, and
 * for code made at run time the same names. The result is a recording with sites, stacks and sums;
 * it has no events, blocks, threads or lists.
 *
 *	struct merge *merge;
 *	merge_create(naming, &merge);
 *	merge_add(merge, path, …);      // each: one that cannot be opened costs only itself
 *	merge_run(merge, …);
 *	merge_recording(merge); merge_symbolized(merge); merge_processes(merge);
 *	merge_destroy(merge);
 *
 * The peak is that of all together: the moment at which they had most live, by the clock that all
 * processes of a machine share. A process that has ended has nothing live. Recordings of different
 * machines (or boots) share no clock: then the peak is the sum of their peaks, and
 * facts->peaks_added says so. own_peak_bytes of sites and peaks of pools are always added.
 *
 * Each recording is read twice, one at a time: for the moment, and for its sites.
 */
#ifndef MALLOW_ANALYSIS_MERGE_MERGE_H
#define MALLOW_ANALYSIS_MERGE_MERGE_H

#include "analysis/names/symbolized.h"
#include "analysis/process_list.h"

struct merge;

/*
 * naming: for the names of all recordings; must outlive the merge. NULL: the usual.
 */
struct err *merge_create(const struct naming *naming, struct merge **ret);
/* Accepts NULL. */
void merge_destroy(struct merge *merge);
CLEANUP_DEFINE(struct merge *, merge_destroy);

/* Adds a recording. One that was added already, by its id, is ignored. */
struct err *merge_add(struct merge *merge, const char *path, recording_progress *progress,
		      void *argument);

/*
 * Merges the recordings that were added, at least one. After a failure only merge_destroy() may be
 * called.
 */
struct err *merge_run(struct merge *merge, recording_progress *progress, void *argument);

/* How many recordings were added. */
size_t merge_count(const struct merge *merge);

/* The results, after merge_run(). They live as long as the merge. */
const struct recording *merge_recording(const struct merge *merge);
struct symbolized *merge_symbolized(const struct merge *merge);
const struct process_list *merge_processes(const struct merge *merge);

#endif
