/*
 * Threads that have ended. New threads get their structs, so that a program which makes threads all
 * the time needs memory only for as many as run at once.
 *
 *   thread_ended_put() ──► arrived ──(all of them)──► first … last ──► thread_ended_take()
 *                          lock-free, any thread      under the lock
 *
 * The thread of an entry may still run: later destructors of the program may allocate. Its struct
 * is handed on once the kernel no longer knows the thread's id.
 */
#ifndef MALLOW_AGENT_LIFE_THREAD_ENDED_H
#define MALLOW_AGENT_LIFE_THREAD_ENDED_H

#include <stdint.h>

#include "base/compiler.h"

struct thread;

/* Zero: no thread has ended. */
struct ended_threads {
	struct thread *arrived; /* atomic; newest first, by ended_next */
	uint32_t lock;
	struct thread *first; /* the one that ended longest ago, by ended_next */
	struct thread *last;
};

/* Wiped at fork. Not NULL once `process` is not. */
extern struct ended_threads *ended_threads hidden;

/* The thread is ending. A second call does nothing. */
void thread_ended_put(struct thread *thread);

/*
 * Takes the struct of a thread that is gone, for a new thread. It is zeroed, but keeps its number,
 * its place in process->threads and the memory that it owns (stack_cache_recycle()). If its slot is
 * whole it also keeps its stream and slot, for the new thread to go on in; else thread->chunk is
 * NULL. NULL: no thread is gone, the lock is taken for too long, or system calls are forbidden. In
 * a signal bracket.
 */
struct thread *thread_ended_take(void);

#endif
