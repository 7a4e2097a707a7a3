/*
 * Starting and stopping the recording while the program runs: by signal, by the C API.
 *
 * Off is one flag, read wherever the agent leaves the hot path:
 *
 *   never started  (DISABLE_BY_DEFAULT) nothing exists: no file, no slot, no thread. guard.c lets
 *                  every call pass.
 *   stopped        threads that record keep their slots. admission.c drops their allocations
 *                  and keeps the ends of blocks that were recorded. Other threads begin to record
 *                  only when they free such a block.
 *
 * thread->selective must be set so that the ends can be told apart: from the start of each thread
 * where the settings allow stops, else by the first stop (docs/adr/0007).
 *
 * No request waits. While one thread carries a request out, another only stores what it wants and
 * goes on; the first thread sees that, and carries it out, too. All functions are
 * async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIFE_TOGGLE_H
#define MALLOW_AGENT_LIFE_TOGGLE_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the recording or goes on with it; stops it. No effect if it is so already. */
void toggle_start(void);
void toggle_stop(void);
/* For SIGNAL_TOGGLE: stops if recording is on, else starts. */
void toggle_flip(void);

#endif
