/*
 * A memory barrier in every thread of the process: what they do next sees what the caller did
 * before, without one of their own on any hot path. By membarrier(), without which there is none.
 */
#ifndef MALLOW_AGENT_GROUND_BARRIER_H
#define MALLOW_AGENT_GROUND_BARRIER_H

#include <stdbool.h>

/*
 * Once, while there is one thread: later the kernel waits for all processors, 15 to 30 ms. Kept
 * across fork.
 */
void barrier_prepare(void);

/* In a signal bracket, while system calls are allowed. false: they have not passed it. */
bool barrier_pass_others(void);

#endif
