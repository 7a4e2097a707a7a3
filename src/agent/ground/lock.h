/*
 * Spin locks that give up. A word of 32 bits; zero is unlocked. Taken only in a signal bracket
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

#endif
