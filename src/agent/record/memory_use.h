/* Memory samples: how much memory the kernel counts for the process. */
#ifndef MALLOW_AGENT_RECORD_MEMORY_USE_H
#define MALLOW_AGENT_RECORD_MEMORY_USE_H

#include <stdbool.h>

struct fact_record;

/* Takes a sample now: makes the record. false: MEMORY_SAMPLES is 0. In a signal bracket. */
bool memory_use_take(struct fact_record *ret);

/*
 * The same if system calls are allowed, and the last sample is old enough: MEMORY_SAMPLES, or
 * sooner at the start of a run.
 */
bool memory_use_take_due(struct fact_record *ret);

#endif
