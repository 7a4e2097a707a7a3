/*
 * The time of an event. Reading the time stamp counter is the dearest part of recording an event: 7
 * ns alone, 50 ns in a program that waits for memory, because the processor finishes earlier
 * instructions first. So an event shares the time of an earlier event of its thread where that does
 * no harm: at most EVENT_CLOCK_REUSES events back, and never from before the last tick of the
 * kernel's coarse clock (1 to 10 ms), which is read from memory in 3 ns.
 *
 * Why no order is lost. Within a stream the records' order counts, and times never step back.
 * Between streams, an event of a block must not get a time older than what another thread did to
 * that block before. event_clock_owners has an entry for each piece of 64 KiB of the address space
 * (pieces 4 GiB apart share one). It names the only thread so far with events of blocks in that
 * piece, or else everybody:
 *
 *   - Events in a thread's own pieces share times: no other thread has had these blocks.
 *   - A thread that comes to another one's piece makes it everybody's, for good, before it reads
 *     the counter. The owner gets a block or an address from that thread only by some
 *     synchronisation. So it sees the change before it takes its next time, which is after a real
 *     malloc and before a real free. (It cannot be about to share an older time for that block:
 *     then the other thread could not have the block.)
 *   - In everybody's pieces each event reads the counter. A free does so behind a fence: without
 *     it the processor could read the counter ahead of the load that brings the block's address
 *     from another thread. (One hand-over in some millions had its free dated before its malloc.)
 *     An allocation needs no fence. If it is dated early, the free of the block that was at its
 *     address before seems to come later: readers expect that (docs/trace-format.md, section 8).
 *
 * A thread that records alone (process->lone_thread) shares times in everybody's pieces, too:
 *
 *   - Any other thread ends that before it reads the counter for an event in such a piece. So does
 *     a thread that makes another one's piece everybody's. As above, the lone thread sees it in
 *     time.
 *   - A thread becomes the lone one when no other has recorded anything for EVENT_CLOCK_APART of
 *     its own readings. It announces itself, makes all others pass a memory barrier (membarrier()),
 *     and looks at their guards. If one of them is inside a hook, the attempt ends: that thread may
 *     have looked before the announcement. A thread that enters a hook later sees it.
 *
 * For events of different blocks, the order between two threads is only exact to EVENT_CLOCK_REUSES
 * events of each. So that a peak does not show this, a block of EVENT_CLOCK_LARGE bytes or more
 * makes its piece everybody's, unless its thread is the lone one. Then its end reads the counter,
 * too.
 *
 * Every other record with a time reads the counter, and so does the next event after it. Where
 * switches are watched (toggle.h), and with CULL, every event does.
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
	struct kernel_time coarse;
	uint32_t apart;  /* readings left until it checks again whether it is alone */
	uint64_t others; /* what the other threads had recorded when this one last looked */
};

/* Atomic. Not cleared at fork: entries of the parent's threads do no harm. */
extern uint16_t event_clock_owners[EVENT_CLOCK_PIECES] hidden;

/*
 * The thread begins to record. first: it is the process's first, and so the lone thread. Else there
 * is no lone thread from now on.
 */
void event_clock_begin(struct thread *thread, bool first);

/*
 * The time of an event, where allocation_ticks() has none to share. size 0: the block ends, or its
 * size does not matter.
 */
uint64_t event_clock_read_slow(struct thread *thread, uint64_t address, uint64_t size);

/* From now on each event of the thread reads the counter. Any thread may call this. */
void event_clock_be_exact(struct thread *thread);

/* There is no lone thread any more. */
void event_clock_end_lone(void);

/* Whether the coarse clock has not moved since the last reading. */
static inline bool event_clock_is_fresh(const struct event_clock *clock)
{
	struct kernel_time now;

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
