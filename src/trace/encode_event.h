/*
 * Writes events as records: docs/trace-format.md, section 4.1. For the agent's hot path and for
 * other writers of recordings (src/write). As in encode.h there are no checks: the caller has made
 * room.
 *
 * A record is a head, a stack change (encode.h) if the stack changed, and a body:
 *
 *	p = trace_put_correction(p, &encoder, event.ticks);
 *	extra = trace_event_needs_extra(&encoder, &event, shape, glibc);
 *	*p++ = trace_event_head(&event, change, extra);
 *	…                                    the stack change, if there is one
 *	p = trace_put_event(p, &encoder, &event, shape, extra);
 *
 * The encoder may be a copy of the stream's, which the caller copies back once the record is
 * committed.
 */
#ifndef MALLOW_TRACE_ENCODE_EVENT_H
#define MALLOW_TRACE_ENCODE_EVENT_H

#include <stdbool.h>

#include "base/compiler.h"
#include "trace/encode.h"

/* Fields that an operation has no use for are not read. */
struct trace_event {
	uint8_t operation;  /* enum trace_op */
	uint8_t heap_flags; /* enum trace_heap_flags, of an allocation */
	uint64_t ticks;     /* of a realloc: its start */
	uint64_t duration;  /* of a realloc */
	uint64_t old_address;
	uint64_t address;
	uint64_t size;
	uint64_t alignment; /* where the operation carries one */
	uint64_t slack;     /* of an allocation: usable minus requested */
};

/* What the compiler knows of the events that a call writes: it removes the code for all others. */
enum trace_shape {
	TRACE_SHAPE_ALLOCATION, /* an allocation that is no realloc and carries no alignment */
	TRACE_SHAPE_ANY,
};

/* The most bytes of an event that pushes so many frames, with a correction before it. */
#define TRACE_EVENT_MAX(push) (2 * (1 + VARINT_MAX) + TRACE_CORE_MAX + TRACE_STACK_CHANGE_MAX(push))

/*
 * Whether records of an operation have the field alignment. The field may be 0: a program may ask
 * for an alignment of 0.
 */
static inline bool trace_carries_alignment(uint8_t operation)
{
	static const uint32_t aligned =
#define ENTRY(number, NAME, name, aligned) (uint32_t)(aligned) << (number) |
#include "trace/entries.def"
#undef ENTRY
		0;

	return aligned >> operation & 1;
}

/*
 * Whether the record needs the field extra. It does not if readers can work out the usable size and
 * the heap flags by themselves: the allocator is glibc's, the usable size is what
 * trace_glibc_usable() gives, and the heap flags are the same as last time.
 */
static inline bool trace_event_needs_extra(const struct trace_encoder *encoder,
					   const struct trace_event *event, enum trace_shape shape,
					   bool glibc)
{
	return (shape == TRACE_SHAPE_ALLOCATION || event->operation <= TRACE_OP_REALLOCARRAY) &&
	       (!glibc || event->heap_flags != encoder->heap_flags ||
		event->size + event->slack != trace_glibc_usable(event->size));
}

/*
 * To be called before each event. Writes a time record if the event is earlier than the last one.
 */
static inline uint8_t *trace_put_correction(uint8_t *p, struct trace_encoder *encoder,
					    uint64_t ticks)
{
	if (likely(ticks >= encoder->time))
		return p;
	*p++ = TRACE_OP_TIME;
	p = varint_put(p, ticks);
	encoder->time = ticks;
	return p;
}

/*
 * Writes a resync record: what stands before it in the stream may be half written. Readers go on
 * with this time and an empty stack.
 */
static inline uint8_t *trace_put_resync(uint8_t *p, struct trace_encoder *encoder, uint64_t ticks)
{
	*p++ = TRACE_OP_RESYNC;
	p = varint_put(p, ticks);
	*encoder = (struct trace_encoder){.time = ticks};
	return p;
}

static inline uint8_t trace_event_head(const struct trace_event *event, bool change, bool extra)
{
	return (uint8_t)(event->operation | (change ? TRACE_STACK_CHANGE : 0) |
			 (extra ? TRACE_EXTRA : 0));
}

/* Writes the body. Stack records have none. */
static inline __attribute__((always_inline)) uint8_t *
trace_put_event(uint8_t *p, struct trace_encoder *encoder, const struct trace_event *event,
		enum trace_shape shape, bool extra)
{
	uint8_t operation = event->operation;

	if (shape == TRACE_SHAPE_ANY && operation == TRACE_OP_STACK)
		return p;
	p = trace_put_time(p, encoder, event->ticks);
	if (shape == TRACE_SHAPE_ANY &&
	    (operation == TRACE_OP_REALLOC || operation == TRACE_OP_REALLOCARRAY)) {
		p = varint_put(p, event->duration);
		encoder->time += event->duration;
		p = trace_put_address(p, &encoder->address, event->old_address);
	}
	p = trace_put_address(p, &encoder->address, event->address);
	if (shape == TRACE_SHAPE_ANY && operation > TRACE_OP_REALLOCARRAY)
		return p;
	p = varint_put(p, event->size);
	if (shape == TRACE_SHAPE_ANY && trace_carries_alignment(operation))
		p = varint_put(p, event->alignment);
	if (unlikely(extra)) {
		encoder->heap_flags = event->heap_flags;
		p = varint_put(p, trace_extra(event->slack, event->heap_flags));
	}
	return p;
}

#endif
