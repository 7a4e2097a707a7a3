/*
 * One process image being recorded: begins with its first allocation, ends with exit or exec, and
 * begins anew in a forked child. What is known of it: ground/state.h.
 */
#ifndef MALLOW_AGENT_LIFE_PROCESS_H
#define MALLOW_AGENT_LIFE_PROCESS_H

#include <stdbool.h>

/*
 * What needs to be known before anything else, once: the settings, the sink that they choose, the
 * environment for children. The functions behind the hooks must have been looked for
 * (hooks_resolve()). false: too early, or another thread is at it.
 */
bool process_read_settings(void);

/*
 * Whether a recording may begin: it is wanted, and there is memory for struct process. It is made
 * here, on the caller's stack, and with it the stacks that slow paths run on.
 */
bool process_prepare(void);

/*
 * After that. Begins the recording, once per image: others that come meanwhile get false and go
 * without. In a signal bracket. true: recording.
 */
bool process_start(void);

/* There was no file when it was to begin: it may be tried again. */
void process_try_again(void);

/*
 * Of a child that kept its parent's memory (fork.h), and has not begun yet: zero, as the kernel
 * would have left it. In a signal bracket, on a stack of the agent's own.
 */
void process_forget_parent(void);

#endif
