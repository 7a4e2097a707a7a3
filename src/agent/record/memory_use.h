/* Memory samples: what the kernel counts as the process's. */
#ifndef MALLOW_AGENT_RECORD_MEMORY_USE_H
#define MALLOW_AGENT_RECORD_MEMORY_USE_H

struct thread;

/* Writes one now, unless MEMORY_SAMPLES is 0. With `busy` set, in a signal bracket. */
void memory_use_write(struct thread *thread);

/* The same, if the last one is as old as MEMORY_SAMPLES says. */
void memory_use_if_due(struct thread *thread);

#endif
