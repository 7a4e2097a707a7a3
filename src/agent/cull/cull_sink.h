/* The sink that holds young blocks back (cull.h), in front of the recording's. */
#ifndef MALLOW_AGENT_CULL_CULL_SINK_H
#define MALLOW_AGENT_CULL_CULL_SINK_H

#include "agent/event/sink.h"

extern const struct sink cull_sink hidden;

#endif
