/* Memory samples: how much memory the kernel counts for the process. */
#ifndef MALLOW_AGENT_RECORD_MEMORY_USE_H
#define MALLOW_AGENT_RECORD_MEMORY_USE_H

struct thread;

/* Writes a sample now, unless MEMORY_SAMPLES is 0. With `busy` set, in a signal bracket. */
void memory_use_write(struct thread *thread);

/* The same if the last sample is at least MEMORY_SAMPLES old and system calls are allowed. */
void memory_use_if_due(struct thread *thread);

#endif
