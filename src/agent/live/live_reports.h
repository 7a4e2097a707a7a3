/* When reports of the live table are made: by signal, by the clock, and at the end (live.h). */
#ifndef MALLOW_AGENT_LIVE_LIVE_REPORTS_H
#define MALLOW_AGENT_LIVE_LIVE_REPORTS_H

#include <stdint.h>

#include "agent/live/live_state.h"
#include "base/compiler.h"

/* Starts a report if one is due. ticks: since the start. Also notes the time for readers. */
void live_reports_look_slow(struct live *live, uint64_t ticks);

static inline void live_reports_look(struct live *live, uint64_t ticks)
{
	if (unlikely(ticks >= __atomic_load_n(&live->next_look, __ATOMIC_RELAXED)))
		live_reports_look_slow(live, ticks);
}

#endif
