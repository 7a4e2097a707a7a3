/* Two threads that work off the jobs, and the caller who takes the results in order. */
#ifndef MALLOW_FINISH_FINISH_WORKERS_H
#define MALLOW_FINISH_FINISH_WORKERS_H

#include "finish/finish_job.h"

/* Takes a finished job, in the caller's thread; an error ends everything. */
typedef struct err *finish_workers_take(void *argument, struct finish_job *job);

/*
 * Runs all jobs. level: zstd's; 0: no compression. No thread is started for one job or on one
 * processor; if none can be started, the caller's thread does the work. Memory is bounded: workers
 * wait when they are too far ahead of the caller.
 */
struct err *finish_workers_run(struct finish_jobs *jobs, const struct chunk_index *index,
			       const struct byte_source *source, int level,
			       finish_workers_take *take, void *argument);

#endif
