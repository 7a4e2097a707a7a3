/*
 * Turns a live table into the tables of a recording: sites with their stacks and sums, threads,
 * and, if wanted, blocks. Part of loading (load/load.h).
 */
#ifndef MALLOW_ANALYSIS_LIVE_LIVE_LOAD_H
#define MALLOW_ANALYSIS_LIVE_LIVE_LOAD_H

#include "analysis/load/load.h"

/*
 * For recordings with TRACE_LIVE. Call it when their chunks were found and before these are read:
 * takes the snapshot, and finds the chunks again, because new ones may have what the snapshot
 * names.
 */
struct err *live_load_begin(struct load *load, bool blocks);

/* To be called when all records were read. */
struct err *live_load_tables(struct load *load);

/* To be called when only times in nanoseconds, and facts, are missing. */
struct err *live_load_finish(struct load *load);

/*
 * live_intervals.c: makes the intervals, when the sites have their sums. nodes: of the sites'
 * stacks.
 */
struct err *live_intervals_make(struct load *load, const uint32_t *nodes);

/* live_threads.c: makes the sums of threads, by name. */
struct err *live_threads_merge(struct recording *recording, const struct live_snapshot *snapshot);

#endif
