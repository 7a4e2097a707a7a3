/*
 * A memory barrier in every other thread of the process, by membarrier(): what they do next sees
 * what the caller did before. So no hot path needs a barrier of its own.
 */
#ifndef MALLOW_AGENT_GROUND_BARRIER_H
#define MALLOW_AGENT_GROUND_BARRIER_H

#include <stdbool.h>

/*
 * Call once, while there is one thread: later the kernel takes 15 to 30 ms, waiting for all
 * processors. Kept across fork.
 */
void barrier_prepare(void);

/*
 * Makes all other threads pass a barrier. false: they did not, because the kernel has no
 * membarrier() or it failed. In a signal bracket, while system calls are allowed.
 */
bool barrier_pass_others(void);

#endif
