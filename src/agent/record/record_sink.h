/* The sink that writes each event into the recording (sink.h). */
#ifndef MALLOW_AGENT_RECORD_RECORD_SINK_H
#define MALLOW_AGENT_RECORD_RECORD_SINK_H

#include "agent/event/sink.h"

extern const struct sink record_sink hidden;

/* Functions of this sink that others use, too. */
uint32_t record_realloc_begin(struct thread *thread, const void *old);
void record_realloc_fail(struct thread *thread, const void *old, uint32_t before);
bool record_realloc_end(struct thread *thread, uint32_t before, struct event *event,
			bool in_handler);
bool record_waits(struct thread *thread, struct event *event);
void record_waited(struct thread *thread, const struct event *event, const uint64_t *frames,
		   uint32_t count);

#endif
