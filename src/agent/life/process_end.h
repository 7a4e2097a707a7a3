/* The end of a recording, and what has to be in its file by then. */
#ifndef MALLOW_AGENT_LIFE_PROCESS_END_H
#define MALLOW_AGENT_LIFE_PROCESS_END_H

#include <stdbool.h>

#include "trace/format.h"

/*
 * Whatever was recorded so far is in the file; with private slots that takes writing it. In a
 * signal bracket. false: something is not.
 */
bool process_flush(void);

/*
 * CULL: what is held back is in the file, too, and from now on nothing is held back: cull_finish().
 * By the calling thread, which may be in the middle of a write, or have no stream: then by one for
 * this alone. In a signal bracket.
 */
void process_end_held_back(void);

/* The image ends, or seems to: exit, _exit, exec. Later events are still recorded. */
void process_end(enum trace_end reason, int status);

/* exec failed after process_end(): it goes on. */
void process_resume(void);

#endif
