/*
 * Converts ticks of a recording into nanoseconds since its start: docs/trace-format.md, section 2.
 */
#ifndef MALLOW_ANALYSIS_LOAD_TICK_CLOCK_H
#define MALLOW_ANALYSIS_LOAD_TICK_CLOCK_H

#include <stdint.h>

#include "trace/format.h"

struct tick_clock {
	uint64_t start;
	uint64_t ticks;       /* so many ticks … */
	uint64_t nanoseconds; /* … take so many nanoseconds */
};

/* A clock from the header's pair of readings and a later pair. 0, 0: there is no later one. */
struct tick_clock tick_clock_make(const struct trace_header *header, uint64_t later_ticks,
				  uint64_t later_monotonic_ns);

/* Nanoseconds since the start, rounded down; 0 for times before it. */
static inline uint64_t tick_clock_ns(const struct tick_clock *clock, uint64_t ticks)
{
	if (ticks <= clock->start)
		return 0;

	unsigned __int128 ns = (unsigned __int128)(ticks - clock->start) * clock->nanoseconds;

	// The usual case needs one division.
	if (ns >> 64 == 0)
		return (uint64_t)ns / clock->ticks;
	ns /= clock->ticks;
	return ns >> 64 ? UINT64_MAX - 1 : (uint64_t)ns;
}

/* How many ticks pass in so many nanoseconds. */
uint64_t tick_clock_span(const struct tick_clock *clock, uint64_t nanoseconds);

#endif
