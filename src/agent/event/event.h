/* What a hook hands on: one allocation, end or realloc, before anybody has counted or written it.
 */
#ifndef MALLOW_AGENT_EVENT_EVENT_H
#define MALLOW_AGENT_EVENT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"

struct event {
	uint8_t operation;  /* enum trace_op; of a record that waits: enum trace_record */
	uint8_t heap_flags; /* enum trace_heap_flags, of an allocation */
	/* Not all is recorded (admission.h): the old block of a realloc, or the freed one, was. */
	bool old_recorded;
	uint64_t ticks; /* of a realloc: its start */
	union {
		uint64_t duration; /* of a realloc that is written */
		uint64_t ticket;   /* of a block that waits for the live table: live_waits() */
	};
	uint64_t old_address;
	uint64_t address;
	uint64_t size;
	uint64_t alignment; /* where the operation carries one */
	uint64_t slack;     /* of an allocation: usable minus requested */
};

#endif
