/*
 * Converts ticks of a recording into nanoseconds since its start: docs/trace-format.md, section 2.
 */
#ifndef MALLOW_ANALYSIS_LOAD_TICK_CLOCK_H
#define MALLOW_ANALYSIS_LOAD_TICK_CLOCK_H

#include <stdint.h>

#include "base/wide.h"
#include "trace/format.h"

struct tick_clock {
	uint64_t start;
	uint64_t ticks;       /* so many ticks … */
	uint64_t nanoseconds; /* … take so many nanoseconds */
	/*
	 * The same as a factor, rounded down: nanoseconds / ticks times 2 to the power of shift,
	 * which is below 2^64. A division would take ten times as long.
	 */
	uint64_t factor;
	unsigned int shift;
};

/* A clock from the header's pair of readings and a later pair. 0, 0: there is no later one. */
struct tick_clock tick_clock_make(const struct trace_header *header, uint64_t later_ticks,
				  uint64_t later_monotonic_ns);

/* The same for any number of ticks since the start, by division. */
uint64_t tick_clock_ns_slow(const struct tick_clock *clock, uint64_t passed);

/* Nanoseconds since the start, rounded down; 0 for times before it. */
static inline uint64_t tick_clock_ns(const struct tick_clock *clock, uint64_t ticks)
{
	if (ticks <= clock->start)
		return 0;

	uint64_t passed = ticks - clock->start;

	if (__builtin_expect(passed >> clock->shift != 0, 0))
		return tick_clock_ns_slow(clock, passed);

	struct wide product = wide_product(passed, clock->factor);
	// Twice, since a shift may be by 0.
	uint64_t ns = product.high << 1 << (63 - clock->shift) | product.low >> clock->shift;
	uint64_t rest = passed * clock->nanoseconds - ns * clock->ticks;

	// As passed is below 2^shift, the factor's rounding makes it too low by one at most.
	return ns + (rest >= clock->ticks);
}

/* The present time in ticks of a recording that is being written on this machine. */
uint64_t tick_clock_now(const struct trace_header *header);

/* How many ticks pass in so many nanoseconds. */
uint64_t tick_clock_span(const struct tick_clock *clock, uint64_t nanoseconds);

#endif
