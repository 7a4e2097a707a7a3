/* One allocation, end or realloc, as a hook passes it on. Nobody has counted or written it yet. */
#ifndef MALLOW_AGENT_EVENT_EVENT_H
#define MALLOW_AGENT_EVENT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"

struct event {
	uint8_t operation;  /* enum trace_op; of a record that waits: enum trace_record */
	uint8_t heap_flags; /* of an allocation: enum trace_heap_flags */
	/* The old or freed block was recorded. Only where not all are (admission.h). */
	bool old_recorded;
	uint64_t ticks; /* of a realloc: when it started */
	union {
		uint64_t duration; /* of a realloc, in ticks */
		uint64_t ticket;   /* of an event that waits for the live table: live_sink.c */
	};
	uint64_t old_address;
	uint64_t address;
	uint64_t size;
	uint64_t alignment; /* if the operation has one */
	uint64_t slack;     /* of an allocation: usable minus requested size */
};

#endif
