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
 * So that the ends can be told apart, thread->filtered is set: from a thread's beginning where a
 * setting says that there will be stops, else by the first stop (docs/adr/0007).
 *
 * Requests are combined: who comes while another carries one out leaves a wish behind and goes on,
 * so that nobody waits, least of all a signal handler. All functions are async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIFE_TOGGLE_H
#define MALLOW_AGENT_LIFE_TOGGLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct thread;

enum toggle_state {
	TOGGLE_ON = 0,
	TOGGLE_OFF,
	TOGGLE_UNSETTLED, /* the settings are not read yet */
};

/* Kept across fork: a child goes on as its parent was. */
extern uint32_t toggle_state hidden; /* enum toggle_state, atomic */
extern uint32_t toggle_watched hidden;
extern uint32_t toggle_idle hidden; /* atomic */

/* Not on. */
static inline bool toggle_is_off(void)
{
	return unlikely(__atomic_load_n(&toggle_state, __ATOMIC_ACQUIRE) != TOGGLE_ON);
}

/*
 * Linked into a program that nobody wants to record, so far: every hook hands on at once. Asked by
 * those that are called most, where they find that their thread is not open.
 */
static inline bool toggle_is_idle(void)
{
	return __atomic_load_n(&toggle_idle, __ATOMIC_RELAXED);
}

/* Whether there may be stops, so that recorded blocks must be known. */
static inline bool toggle_is_watched(void)
{
	return __atomic_load_n(&toggle_watched, __ATOMIC_SEQ_CST);
}

/*
 * For whoever met toggle_is_off(): reads the settings, if it is time to. true: it was too early
 * until now, and recording is on.
 */
bool toggle_settle_slow(void);

/* Whether a recording that begins now was asked for: what was there before is not known. */
bool toggle_begins(void);

/* Begin, or go on; stop. Nothing where that is how it is already. */
void toggle_start(void);
void toggle_stop(void);
/* The signal: whichever of the two comes next. */
void toggle_flip(void);

/* Writes the thread's tag (mallow_set_tag) if its stream has another one. With `busy` set. */
void toggle_write_tag(struct thread *thread);

#endif
