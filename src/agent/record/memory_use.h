/* Memory samples: how much memory the kernel counts for the process. */
#ifndef MALLOW_AGENT_RECORD_MEMORY_USE_H
#define MALLOW_AGENT_RECORD_MEMORY_USE_H

struct thread;

/* Writes a sample now, unless MEMORY_SAMPLES is 0. With `busy` set, in a signal bracket. */
void memory_use_write(struct thread *thread);

/*
 * The same if system calls are allowed, and the last sample is old enough: MEMORY_SAMPLES, or
 * sooner at the start of a run.
 */
void memory_use_if_due(struct thread *thread);

#endif
