/* The sink that keeps the table of MODE=live (live.h). */
#ifndef MALLOW_AGENT_LIVE_LIVE_SINK_H
#define MALLOW_AGENT_LIVE_LIVE_SINK_H

#include "agent/event/sink.h"

extern const struct sink live_sink hidden;

#endif
