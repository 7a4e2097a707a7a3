/* Ending a recording, and completing its file before that. */
#ifndef MALLOW_AGENT_LIFE_PROCESS_END_H
#define MALLOW_AGENT_LIFE_PROCESS_END_H

#include <stdbool.h>

#include "trace/format.h"

/*
 * Brings what was recorded so far into the file. Only private slots need it: shared ones are pages
 * of the file. In a signal bracket. false: something is missing.
 */
bool process_flush(void);

/*
 * CULL: writes the events that are held back, and from now on holds none back (cull_finish()). The
 * calling thread writes them into its own stream. If it has none, or is in the middle of a write,
 * it borrows one (thread_lend()). In a signal bracket.
 */
void process_end_held_back(void);

/*
 * The image ends, or seems to: exit, _exit, exec. Later events are still recorded. status: 0 to
 * 255, or TRACE_STATUS_UNKNOWN.
 */
void process_end(enum trace_end reason, uint32_t status);

/* The exec failed after process_end(): the recording goes on. */
void process_resume(void);

#endif
