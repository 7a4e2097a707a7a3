/*
 * Loads the recordings of `mallow run` while the program still runs, in a thread that gets only
 * time that nobody else wants. So at the end little is left to be loaded. Small recordings are
 * left alone: loading them at the end takes no time.
 *
 * It stops, and drops all, when it takes more than a quarter of what is available of memory: the
 * program goes first.
 */
#ifndef MALLOW_CLI_RUN_RUN_AHEAD_H
#define MALLOW_CLI_RUN_RUN_AHEAD_H

#include "analysis/growing/growing.h"
#include "cli/run/run_registry.h"

struct run_ahead;

/*
 * registry: borrowed. needs: enum recording_needs. NULL: no thread could be started, and nothing is
 * loaded ahead. Other users' recordings are not.
 */
struct run_ahead *run_ahead_start(struct run_registry *registry, unsigned int needs);
/* To be called when the program has ended: ends the thread. */
void run_ahead_stop(struct run_ahead *ahead);
/* After run_ahead_stop(). Accepts NULL. */
void run_ahead_destroy(struct run_ahead *ahead);

/*
 * After run_ahead_stop(): takes out what was loaded of image i of the registry. NULL: nothing was,
 * or `ahead` is NULL.
 */
struct growing *run_ahead_take(struct run_ahead *ahead, size_t i);

#endif
