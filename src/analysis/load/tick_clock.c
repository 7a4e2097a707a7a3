#include "analysis/load/tick_clock.h"

#include "base/counter.h"
#include "hosted/now.h"

static void set_rate(struct tick_clock *clock, uint64_t ticks, uint64_t nanoseconds)
{
	clock->ticks = ticks;
	clock->nanoseconds = nanoseconds;
	clock->shift = 63;
	while (!wide_scale(nanoseconds, UINT64_C(1) << clock->shift, ticks, &clock->factor))
		clock->shift--;
	// Two remainders must fit: then tick_clock_ns() can tell them apart.
	if (ticks >> 63)
		clock->shift = 0;
}

struct tick_clock tick_clock_make(const struct trace_header *header, uint64_t later_ticks,
				  uint64_t later_monotonic_ns)
{
	struct tick_clock clock = {.start = header->start_ticks};

	if (header->clock == TRACE_CLOCK_MONOTONIC_NS || later_ticks <= header->start_ticks ||
	    later_monotonic_ns <= header->start_monotonic_ns)
		set_rate(&clock, 1, 1);
	else
		set_rate(&clock, later_ticks - header->start_ticks,
			 later_monotonic_ns - header->start_monotonic_ns);
	return clock;
}

uint64_t tick_clock_ns_slow(const struct tick_clock *clock, uint64_t passed)
{
	uint64_t ns;

	return wide_scale(passed, clock->nanoseconds, clock->ticks, &ns) ? ns : UINT64_MAX - 1;
}

uint64_t tick_clock_now(const struct trace_header *header)
{
	return header->clock == TRACE_CLOCK_TSC ? counter_read() : now_ns();
}

uint64_t tick_clock_span(const struct tick_clock *clock, uint64_t nanoseconds)
{
	uint64_t span;

	return wide_scale(nanoseconds, clock->ticks, clock->nanoseconds, &span) ? span : UINT64_MAX;
}
