/*
 * Starting and stopping the recording while the program runs: by signal, by the C API.
 *
 * Off is one flag, read wherever the agent leaves the hot path:
 *
 *   never started  (DISABLE_BY_DEFAULT) nothing exists: no file, no slot, no thread. guard.c lets
 *                  every call pass.
 *   stopped        threads that record keep their slots. admission.c drops their allocations
 *                  and keeps the ends of blocks that were recorded. Others begin only where they
 *                  end such a block.
 *
 * So that the ends can be told apart, thread->selective is set: from a thread's beginning where a
 * setting says that there will be stops, else by the first stop (docs/adr/0007).
 *
 * Requests are combined: who comes while another carries one out leaves a wish behind and goes on,
 * so that nobody waits, least of all a signal handler. All functions are async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIFE_TOGGLE_H
#define MALLOW_AGENT_LIFE_TOGGLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * For whoever met toggle_is_off(): reads the settings, if it is time to. true: it was too early
 * until now, and recording is on.
 */
bool toggle_settle_slow(void);

/* Begin, or go on; stop. Nothing where that is how it is already. */
void toggle_start(void);
void toggle_stop(void);
/* The signal: whichever of the two comes next. */
void toggle_flip(void);

#endif
