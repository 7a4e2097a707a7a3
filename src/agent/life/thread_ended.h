/*
 * Threads that have ended. The next ones get their memory, so that a program which makes threads
 * all day needs memory for as many as run at once.
 *
 *   thread_ended_put() ──► arrived ──(all of them)──► first … last ──► thread_ended_take()
 *                          lock-free, any thread      under the lock
 *
 * The system thread of an entry may still run: later destructors of the program may allocate. Its
 * memory is handed on once the kernel no longer knows the thread's id.
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

/* This image's, wiped at fork. Not NULL where `process` is not. */
extern struct ended_threads *ended_threads hidden;

/* The thread is ending. More than once is the same as once. */
void thread_ended_put(struct thread *thread);

/*
 * The memory of a thread that is gone: zero but for its number, its place in process->threads, what
 * memory it owns (stack_cache_recycle()), and its stream and slot, at rest, for the next thread to
 * go on in. No chunk: it has none of the recording as it is now. NULL: no thread is gone, or system
 * calls are forbidden. In a signal bracket.
 */
struct thread *thread_ended_take(void);

#endif
