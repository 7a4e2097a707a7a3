/* Ticks: the time stamp counter where it is trustworthy, else CLOCK_MONOTONIC in nanoseconds. */
#ifndef MALLOW_AGENT_GROUND_CLOCK_H
#define MALLOW_AGENT_GROUND_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "agent/arch/instructions.h"
#include "base/compiler.h"

extern bool clock_use_tsc hidden;

/* The kernel's clock_gettime() in the program's memory, which makes no system call. NULL: none. */
extern int (*clock_of_kernel)(clockid_t clock, struct timespec *ret) hidden;

/*
 * The program is about to unmap, move or replace its memory in [start, start + length). With the
 * kernel's code in it the clock that makes no system call never says again that no time has passed.
 */
void clock_memory_leaves(uint64_t start, uint64_t length);

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

/* The counter may be read ahead of loads that come before it. */
static inline uint64_t clock_ticks(void)
{
	return clock_use_tsc ? arch_counter() : clock_ticks_slow();
}

/*
 * A number that is another one whenever the kernel's own clock has ticked, each 1 to 10 ms, at half
 * the price of clock_ticks(). 0: it cannot be told.
 */
static inline uint64_t clock_coarse(void)
{
	struct timespec now;

	if (unlikely(!clock_of_kernel || clock_of_kernel(CLOCK_MONOTONIC_COARSE, &now)))
		return 0;
	return (uint64_t)now.tv_sec << 30 | (uint64_t)now.tv_nsec;
}

/* What is read next is not read before what was loaded until now, an address for instance. */
static inline void clock_wait_for_loads(void)
{
	arch_wait_for_loads();
}

#endif
