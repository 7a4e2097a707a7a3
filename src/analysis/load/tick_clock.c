#include "analysis/load/tick_clock.h"

struct tick_clock tick_clock_make(const struct trace_header *header, uint64_t later_ticks,
				  uint64_t later_monotonic_ns)
{
	struct tick_clock clock = {.start = header->start_ticks, .ticks = 1, .nanoseconds = 1};

	if (header->clock == TRACE_CLOCK_MONOTONIC_NS || later_ticks <= header->start_ticks ||
	    later_monotonic_ns <= header->start_monotonic_ns)
		return clock;
	clock.ticks = later_ticks - header->start_ticks;
	clock.nanoseconds = later_monotonic_ns - header->start_monotonic_ns;
	return clock;
}

uint64_t tick_clock_span(const struct tick_clock *clock, uint64_t nanoseconds)
{
	unsigned __int128 span = (unsigned __int128)nanoseconds * clock->ticks / clock->nanoseconds;

	return span >> 64 ? UINT64_MAX : (uint64_t)span;
}
