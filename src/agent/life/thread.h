/* Beginning and ending the recording of a thread (event/thread.h). */
#ifndef MALLOW_AGENT_LIFE_THREAD_H
#define MALLOW_AGENT_LIFE_THREAD_H

#include <stddef.h>

#include "agent/event/thread.h"

/*
 * Makes the calling thread ready to record: a new one, one after fork, or one that allocates after
 * its own end. Begins the process's recording if need be. Blocks signals itself. A guard that is
 * set stays set: the caller looks at it. NULL: the thread cannot be recorded now, because it is in
 * the middle of a write for instance.
 *
 * for_event: it begins with an event of the program, which is counted as lost if there is no slot.
 */
struct thread *thread_begin_slow(bool for_event);

/*
 * Begins the recording of a child that kept this thread over the fork (fork.h), once the
 * interrupted write is over or given up. The pending events and the guard stay. thread->cursor is
 * NULL afterwards if nothing can be recorded.
 */
void thread_renew_slow(struct thread *thread);

/*
 * A stream for records that the calling thread cannot write into its own. thread_take_back() ends
 * it, with what was written. NULL: there is none. In a signal bracket.
 */
struct thread *thread_lend(void);
void thread_take_back(struct thread *thread);

/* The size of a thread's memory, all of which the kernel wipes at fork. */
size_t thread_memory_size(void);

/*
 * Calls work in a signal bracket, with `busy` set, if the calling thread records already and is not
 * in the middle of that; else does nothing.
 */
void thread_do(void (*work)(struct thread *thread));

/* The program has just given this thread a name. */
void thread_renamed(void);

#endif
