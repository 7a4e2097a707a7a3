/* Memory samples: what the kernel counts as the process's. */
#ifndef MALLOW_AGENT_SAMPLE_H
#define MALLOW_AGENT_SAMPLE_H

struct thread;

/* Writes one now, unless MEMORY_SAMPLES is 0. With `busy` set, in a slow bracket. */
void sample_write(struct thread *thread);

/* The same, if the last one is as old as MEMORY_SAMPLES says. */
void sample_if_due(struct thread *thread);

#endif
