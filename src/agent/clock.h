/* Ticks: the time stamp counter where it is trustworthy, else CLOCK_MONOTONIC in nanoseconds. */
#ifndef MALLOW_AGENT_CLOCK_H
#define MALLOW_AGENT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

extern bool clock_use_tsc;

/* Decides once, before the first reading. */
void clock_init(void);

uint64_t clock_monotonic_ns(void);
uint64_t clock_realtime_ns(void);

/*
 * From now on ticks stand still: the counter, or the system call that reads the clock, is about to
 * be forbidden to this thread. clock_thaw(): it was not.
 */
void clock_freeze(void);
void clock_thaw(void);

/* The clock that is no counter; or the moment at which it was frozen. */
uint64_t clock_ticks_slow(void);

// Without fences: in a million hand-offs of a block between processors no free was stamped after
// the malloc that reused it (docs in the design); a fence would cost as much as the reading.
static inline uint64_t clock_ticks(void)
{
	return clock_use_tsc ? __builtin_ia32_rdtsc() : clock_ticks_slow();
}

#endif
