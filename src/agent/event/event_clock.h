/*
 * The time of an event. Reading the time stamp counter is the dearest part of recording one: 7 ns
 * alone, 50 ns in a program that waits for memory, because the processor lets what came before
 * finish first. So events take the time of an earlier one of their thread where that does no harm,
 * at most EVENT_CLOCK_REUSES back and never from before the last tick of the kernel's coarse clock
 * (1 to 10 ms), which is read from memory in 3 ns.
 *
 * Why no order is lost. Within a stream the records' order counts, and times never step back.
 * Between streams a time must not be older than what happened to that block in another thread
 * before. event_clock_owners says for each piece of 64 KiB of the address space (for those of them
 * that share an entry) which thread alone has touched it so far, by an event of a block there:
 *
 *   - Events in a thread's own pieces share times: no other thread has had these blocks.
 *   - A thread that comes to a piece of another one makes it everybody's, for good, before it reads
 *     the counter. What the owner then gets from that thread, a block or an address, it gets by
 *     some synchronisation, so that it sees this before it takes its next time, which comes after a
 *     real malloc and before a real free. (It cannot be about to share an older time for that
 *     block: this thread would not have it.)
 *   - In everybody's pieces each event reads the counter: a free, behind a fence, for the processor
 *     may read it ahead of the load that brings the block's address from another thread. (One
 *     hand-over in some millions had its free dated before its malloc.) Of an allocation it may as
 *     well: a free that seems to come a little later than the malloc which got the address next is
 *     what readers look ahead for (docs/trace-format.md, section 8).
 *
 * A thread that records alone (process->lone_thread) shares times in everybody's pieces, too:
 *
 *   - Any other thread ends that before it reads the counter for an event in such a piece, and so
 *     does whoever makes a piece everybody's. As above, the lone thread sees it in time.
 *   - A thread becomes the lone one when no other has recorded anything for EVENT_CLOCK_APART of
 *     its own readings. Having said so it makes all others pass a memory barrier (membarrier()) and
 *     looks at their guards: one that is inside a hook may have looked already, and ends the
 *     attempt. One that enters a hook later sees who is alone.
 *
 * Between events of different blocks the order of two threads is true to EVENT_CLOCK_REUSES events
 * of each. So that this does not show in a peak, a block of EVENT_CLOCK_LARGE bytes and up that is
 * not a lone thread's makes its piece everybody's: its end is dated anew, too.
 *
 * Every other record with a time is dated exactly, and the next event after it, too. Where switches
 * are watched (toggle.h), and with CULL, each event is.
 */
#ifndef MALLOW_AGENT_EVENT_EVENT_CLOCK_H
#define MALLOW_AGENT_EVENT_EVENT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "agent/ground/clock.h"
#include "base/compiler.h"

#define EVENT_CLOCK_REUSES     16
#define EVENT_CLOCK_APART      256
#define EVENT_CLOCK_LARGE      32768
#define EVENT_CLOCK_PIECE_BITS 16
#define EVENT_CLOCK_PIECES     65536 /* entries: addresses 4 GiB apart share one */

/* What an entry may hold besides a thread's number. */
#define EVENT_CLOCK_UNTOUCHED 0
#define EVENT_CLOCK_EVERYBODY 0xffff
/* The owner number of a thread that never shares times. It is in no entry. */
#define EVENT_CLOCK_NOBODY    0xfffe

struct thread;

/* A thread's own. Zero: nothing read yet. */
struct event_clock {
	uint64_t ticks; /* the last reading of the counter */
	uint32_t left;  /* how many more events may use it */
	uint16_t owner; /* the thread's number in event_clock_owners; atomic */
	struct timespec coarse;
	uint32_t apart;  /* readings left until it checks again whether it is alone */
	uint64_t others; /* what the other threads had recorded when this one last looked */
};

/* Atomic. Not cleared at fork: entries of the parent's threads do no harm. */
extern uint16_t event_clock_owners[EVENT_CLOCK_PIECES] hidden;

/* The thread begins to record. If it is the first it is the lone thread, else there is none. */
void event_clock_begin(struct thread *thread, bool first);

/*
 * The time of an event, where allocation_ticks() has none to share. size 0: the block ends, or its
 * size does not matter.
 */
uint64_t event_clock_read_slow(struct thread *thread, uint64_t address, uint64_t size);

/* From now on each event of the thread gets a time of its own. Any thread may ask for it. */
void event_clock_be_exact(struct thread *thread);

/* There is no lone thread any more. */
void event_clock_end_lone(void);

/* Whether the coarse clock has not moved since the last reading. */
static inline bool event_clock_is_fresh(const struct event_clock *clock)
{
	struct timespec now;

	clock_of_kernel(CLOCK_MONOTONIC_COARSE, &now);
	return likely(now.tv_nsec == clock->coarse.tv_nsec && now.tv_sec == clock->coarse.tv_sec);
}

static inline uint16_t *event_clock_owner(uint64_t address)
{
	return &event_clock_owners[address >> EVENT_CLOCK_PIECE_BITS & (EVENT_CLOCK_PIECES - 1)];
}

/* The next event reads the counter, since something else with a time was recorded. */
static inline void event_clock_expire(struct event_clock *clock)
{
	clock->left = 0;
}

#endif
