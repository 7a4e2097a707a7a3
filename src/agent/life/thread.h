/* How a thread begins to record, and ends (event/thread.h). */
#ifndef MALLOW_AGENT_LIFE_THREAD_H
#define MALLOW_AGENT_LIFE_THREAD_H

#include <stddef.h>

#include "agent/event/thread.h"

/*
 * Makes the calling thread ready to record, from nothing, after fork, or after its end: starts
 * the process's recording if need be. NULL: it cannot be recorded now, in the middle of a write for
 * instance. Blocks signals itself. A guard that is set stays, to be looked at.
 */
struct thread *thread_begin_slow(void);

/*
 * In a child that kept this thread over the fork (fork.h), when the interrupted write is over or
 * given up: begins the child's recording. The pending events stay, and what is on the stack of
 * hooks. cursor is NULL afterwards if nothing can be recorded.
 */
void thread_renew_slow(struct thread *thread);

/*
 * A stream of its own for records that the calling thread cannot write into its own, to be given
 * back with what was written. NULL: there is none. In a signal bracket.
 */
struct thread *thread_lend(void);
void thread_take_back(struct thread *thread);

/* The memory of a thread, all of which the kernel wipes at fork. */
size_t thread_memory_size(void);

/* The program has just given this thread a name. */
void thread_renamed(void);

#endif
