/* Ticks: the time stamp counter if it can be trusted, else CLOCK_MONOTONIC in nanoseconds. */
#ifndef MALLOW_AGENT_GROUND_CLOCK_H
#define MALLOW_AGENT_GROUND_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "agent/arch/instructions.h"
#include "agent/arch/kernel_forms.h"
#include "base/compiler.h"
#include "base/counter.h"

extern bool clock_use_tsc hidden;

/* The vDSO's clock_gettime(), which makes no system call. NULL: there is none. */
extern int (*clock_of_kernel)(clockid_t clock, struct kernel_time *ret) hidden;

/*
 * Call before the program unmaps, moves or replaces its memory in [start, start + length). If the
 * vDSO lies there, clock_of_kernel becomes a clock that shows another time at each call.
 */
void clock_memory_leaves(uint64_t start, uint64_t length);

/* Decides once, before the first reading. */
void clock_init(void);

uint64_t clock_monotonic_ns(void);
uint64_t clock_realtime_ns(void);

/*
 * From now on ticks stand still: the counter, or the system call that reads the clock, is about to
 * be forbidden to this thread. clock_thaw(): it was not forbidden after all.
 */
void clock_freeze(void);
void clock_thaw(void);

/*
 * clock_ticks() where it does not read the counter: the system's clock, or the time at which
 * clock_freeze() was called.
 */
uint64_t clock_ticks_slow(void);

/* The time in ticks. The processor may read the counter ahead of earlier loads. */
static inline uint64_t clock_ticks(void)
{
	return clock_use_tsc ? counter_read() : clock_ticks_slow();
}

/*
 * A number that changes when the kernel's coarse clock ticks, every 1 to 10 ms. Half the price of
 * clock_ticks(). 0: not known.
 */
static inline uint64_t clock_coarse(void)
{
	struct kernel_time now;

	if (unlikely(!clock_of_kernel || clock_of_kernel(CLOCK_MONOTONIC_COARSE, &now)))
		return 0;
	return (uint64_t)now.tv_sec << 30 | (uint64_t)now.tv_nsec;
}

/* Waits for all earlier loads, of an address for instance, before the next instruction. */
static inline void clock_wait_for_loads(void)
{
	// The system's clock waits by itself. Of 64 bits a processor can wait in any case.
	if (sizeof(long) == 8 || clock_use_tsc)
		arch_wait_for_loads();
}

#endif
