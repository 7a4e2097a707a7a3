/*
 * How threads of the agent wait for each other, and make others see what they did.
 *
 * Spin locks give up. A word of 32 bits; zero is unlocked. Taken only in a signal bracket
 * (signal_bracket.h), so that no handler finds its own thread holding one.
 */
#ifndef MALLOW_AGENT_GROUND_LOCK_H
#define MALLOW_AGENT_GROUND_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* A thousand tries, then false. Makes no system call. */
bool lock_try(uint32_t *lock);

/*
 * For callers that cannot go without the lock: sleeps while another thread has it, whose processor
 * may be taken away. Gives up after some 40 ms: false.
 */
bool lock_wait(uint32_t *lock);

void lock_release(uint32_t *lock);

/*
 * A memory barrier in every other thread of the process, by membarrier(): what they do next sees
 * what the caller did before. So no hot path needs a barrier of its own.
 *
 * barrier_prepare(): call once, while there is one thread: later the kernel takes 15 to 30 ms,
 * waiting for all processors. Kept across fork.
 */
void barrier_prepare(void);

/*
 * Makes all other threads pass a barrier. false: they did not, because the kernel has no
 * membarrier() or it failed. In a signal bracket, while system calls are allowed.
 */
bool barrier_pass_others(void);

#endif
