/*
 * The live table as the tables of a recording: sites with their stacks and sums, threads, and where
 * they are wanted blocks. Part of loading (load/load.h).
 */
#ifndef MALLOW_ANALYSIS_LIVE_LIVE_LOAD_H
#define MALLOW_ANALYSIS_LIVE_LIVE_LOAD_H

#include "analysis/load/load.h"

/*
 * For recordings with TRACE_LIVE, when their chunks were found and before these are read: takes the
 * snapshot, and finds the chunks anew, for they hold what the snapshot names.
 */
struct err *live_load_begin(struct load *load, bool blocks);

/* When all records are read. */
struct err *live_load_tables(struct load *load);

/* When nothing is missing but times in nanoseconds, and facts. */
struct err *live_load_finish(struct load *load);

/* live_intervals.c: of the estimates, when the sites have their sums. nodes: of their stacks. */
struct err *live_intervals_make(struct load *load, const uint32_t *nodes);

/* live_threads.c: the sums of threads, merged by name. */
struct err *live_threads_merge(struct recording *recording, const struct live_snapshot *snapshot);

#endif
