/*
 * Several recordings as one: the processes of a tree, or runs of one program. Sites are the same
 * when their stacks are, by file (path and build id) and place in it; code made at run time by its
 * name. The result is a recording to whoever looks at sites, stacks and sums; it has no events,
 * blocks, threads or lists.
 *
 *	struct merge *merge;
 *	merge_create(symbolizer, &merge);
 *	merge_add(merge, path, …);      // each: one that cannot be opened costs only itself
 *	merge_run(merge, …);
 *	merge_recording(merge); merge_symbolized(merge); merge_processes(merge);
 *	merge_destroy(merge);
 *
 * The peak is that of all of them together: what was live at the moment when that was most, by the
 * clock that all processes of a machine share. A process that ended has nothing live any more.
 * Where recordings are of different machines (or boots) there is no such clock: then the peak is
 * the sum of their own, and facts->peaks_added says so. own_peak_bytes of a site is added up
 * always, and so are the peaks of pools.
 *
 * Each recording is read twice, one at a time: once for the moment, once for its sites.
 */
#ifndef MALLOW_ANALYSIS_MERGE_MERGE_H
#define MALLOW_ANALYSIS_MERGE_MERGE_H

#include "analysis/names/symbolized.h"
#include "analysis/process_list.h"

struct merge;

/* symbolizer: for the names of all recordings, must outlive it; NULL: one of its own for each. */
struct err *merge_create(struct symbolizer *symbolizer, struct merge **ret);
/* Accepts NULL. */
void merge_destroy(struct merge *merge);

/* A recording that was added already, by its id, is passed over. */
struct err *merge_add(struct merge *merge, const char *path, recording_progress *progress,
		      void *argument);

/* Everything was added, at least one. After a failure nothing but merge_destroy() is possible. */
struct err *merge_run(struct merge *merge, recording_progress *progress, void *argument);

/* How many were added. */
size_t merge_count(const struct merge *merge);

/* After merge_run(). They live as long as the merge. */
const struct recording *merge_recording(const struct merge *merge);
struct symbolized *merge_symbolized(const struct merge *merge);
const struct process_list *merge_processes(const struct merge *merge);

#endif
