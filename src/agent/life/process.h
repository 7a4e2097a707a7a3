/*
 * The recording of one process image. It begins with the image's first allocation and ends with
 * exit or exec. A forked child begins one of its own. The state is in ground/state.h.
 */
#ifndef MALLOW_AGENT_LIFE_PROCESS_H
#define MALLOW_AGENT_LIFE_PROCESS_H

#include <stdbool.h>

/*
 * Reads the settings and chooses the sink, once, before anything else. next_functions_find() must
 * have run. false: too early, or another thread is reading them.
 */
bool process_read_settings(void);

/*
 * Call when toggle_is_off(): it may mean only that the settings are not read yet. Reads them if
 * possible. true: they were read now, and recording is on.
 */
bool process_settle_toggle_slow(void);

/*
 * Returns whether a recording may begin: it is wanted, system calls are allowed, and there is
 * memory. Makes struct process and the agent's own stacks if they are missing. Runs on the caller's
 * stack.
 */
bool process_prepare(void);

/*
 * Begins the recording, once per image. Call process_prepare() first; in a signal bracket. Returns
 * whether the process records now. While one thread begins it, the others get false and go
 * unrecorded.
 */
bool process_start(void);

/*
 * Tells the registry of the recording if its socket was full before. last: there is no later try,
 * so a failure is logged. In a signal bracket; costs nothing if nothing is left to tell.
 */
void process_tell_again(bool last);

/* After a recording could not begin, for want of a file: lets the next event try again. */
void process_try_again(void);

/*
 * In a child that completed a write of its parent (fork.h): clears what the write left in struct
 * process, so that it is zero, as the kernel had made it. Does nothing once the child's recording
 * has begun. In a signal bracket, on a stack of the agent's own.
 */
void process_forget_parent(void);

#endif
