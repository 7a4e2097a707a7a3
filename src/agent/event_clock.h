/*
 * The time of an event. Reading the time stamp counter is the dearest part of recording one: 7 ns
 * alone, 50 ns in a program that waits for memory, because the processor lets what came before
 * finish first. While one thread records alone, its events take the time of an earlier one, at
 * most EVENT_CLOCK_REUSES back and never from before the last tick of the kernel's coarse clock
 * (1 to 10 ms), which is read from memory in 3 ns.
 *
 * Why no order is lost. Within a stream the records' order counts, and times never step back.
 * Between streams a time must not be older than what happened in another thread before. So the
 * process has at most one lone thread (process->lone_thread):
 *
 *   - Any other thread that is about to take a time ends that first, for good or until the next
 *     attempt, and reads the counter itself. What the lone thread then gets from that one, a block
 *     or an address, it gets by some synchronisation, so that it sees this before it takes its own
 *     next time, which comes after a real malloc and before a real free.
 *   - A thread becomes the lone one when no other has recorded anything for EVENT_CLOCK_APART of
 *     its own readings. Having said so it makes all others pass a memory barrier (membarrier()) and
 *     looks at their guards: one that is inside a hook may have taken its time already, and ends
 *     the attempt. One that enters a hook later sees who is alone.
 *
 * Every other record with a time is dated exactly, and the next event after it, too.
 */
#ifndef MALLOW_AGENT_EVENT_CLOCK_H
#define MALLOW_AGENT_EVENT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "agent/clock.h"

#define EVENT_CLOCK_REUSES 16
#define EVENT_CLOCK_APART  256

struct thread;

/* A thread's own. Zero: nothing read yet. */
struct event_clock {
	uint64_t ticks; /* of the last reading */
	uint32_t left;  /* how often it may be used again */
	struct timespec coarse;
	uint32_t apart;  /* readings until it looks again whether it is alone */
	uint64_t others; /* what the other threads had recorded when this one last looked */
};

/* The C library's kernel page: clock_gettime() without a system call. NULL: none. */
extern int (*event_clock_coarse)(clockid_t clock, struct timespec *ret);

/* Once, before the first event. */
void event_clock_init(void);

/* The thread begins to record: alone if it is the first, else nobody is any more. */
void event_clock_begin(struct thread *thread, bool first);

/* A new reading; another thread that was alone is so no more, and this one may be from now on. */
uint64_t event_clock_read_slow(struct thread *thread);

/* Nobody is alone any more: what comes must not be dated before now, of no thread. */
void event_clock_end_lone(void);

/* The next event is dated anew: something else with a time was recorded. */
static inline void event_clock_expire(struct event_clock *clock)
{
	clock->left = 0;
}

#endif
