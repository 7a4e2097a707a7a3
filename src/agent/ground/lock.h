/*
 * Locks that have an end to trying. A word of 32 bits; zero is unlocked. Taken only in a signal
 * bracket (signal_bracket.h), so that no handler finds its own thread holding one.
 */
#ifndef MALLOW_AGENT_GROUND_LOCK_H
#define MALLOW_AGENT_GROUND_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* A few tries, then false: nobody waits. */
bool lock_try(uint32_t *lock);

/*
 * Where going without is wrong, not only dearer: naps while another thread has it, which may have
 * lost its processor. Some 40 ms at most, then false.
 */
bool lock_wait(uint32_t *lock);

void lock_release(uint32_t *lock);

#endif
