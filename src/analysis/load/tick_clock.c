#include "analysis/load/tick_clock.h"

#include "base/counter.h"
#include "hosted/now.h"

static void set_rate(struct tick_clock *clock, uint64_t ticks, uint64_t nanoseconds)
{
	unsigned __int128 factor = (unsigned __int128)nanoseconds << 63;

	clock->ticks = ticks;
	clock->nanoseconds = nanoseconds;
	clock->shift = 63;
	factor /= ticks;
	for (; factor >> 64; factor >>= 1)
		clock->shift--;
	clock->factor = (uint64_t)factor;
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
	unsigned __int128 ns = (unsigned __int128)passed * clock->nanoseconds / clock->ticks;

	return ns >> 64 ? UINT64_MAX - 1 : (uint64_t)ns;
}

uint64_t tick_clock_now(const struct trace_header *header)
{
	return header->clock == TRACE_CLOCK_TSC ? counter_read() : now_ns();
}

uint64_t tick_clock_span(const struct tick_clock *clock, uint64_t nanoseconds)
{
	unsigned __int128 span = (unsigned __int128)nanoseconds * clock->ticks / clock->nanoseconds;

	return span >> 64 ? UINT64_MAX : (uint64_t)span;
}
