/*
 * One stream of a recording in the making: events and other records, in their order, as sealed
 * chunks behind each other (docs/trace-format.md, sections 3 to 5). It encodes as the agent does
 * (trace/encode_event.h). The file's header is the caller's to write.
 *
 *	record_stream_init(&stream, &out, number, TRACE_ALLOCATOR_GLIBC);
 *	record_stream_begin(&stream, ticks, monotonic_ns);
 *	…
 *	if (record_stream_is_full(&stream, frames)) {
 *		record_stream_seal(&stream);
 *		record_stream_begin(&stream, ticks, monotonic_ns);
 *	}
 *	record_stream_event(&stream, &event, stack, frames);
 *	…
 *	record_stream_seal(&stream);
 *	record_stream_deinit(&stream);
 *
 * Without memory out fails (buf_finish()), and nothing more is written. One thread at a time.
 */
#ifndef MALLOW_WRITE_RECORD_STREAM_H
#define MALLOW_WRITE_RECORD_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/buf.h"
#include "trace/encode_event.h"

/* The payload of a chunk, but where one event's stack takes more. */
#define RECORD_STREAM_CHUNK (1u << 20)

/* By the id of a frame record that was written before, in any stream; id 0: by its pc alone. */
struct record_frame {
	uint32_t id;
	uint64_t pc;
};

struct record_stream {
	struct buf *out;           /* borrowed, in memory: where the chunks go */
	struct buf payload;        /* of the chunk in the making */
	struct trace_chunk header; /* of the same */
	struct trace_encoder encoder;
	struct record_frame *stack; /* of the last event, outermost first */
	uint32_t depth, capacity;
	bool glibc; /* usable sizes are known to readers: trace_glibc_usable() */
};

/* number: of the stream, from 0. */
void record_stream_init(struct record_stream *stream, struct buf *out, uint32_t number,
			enum trace_allocator allocator);
void record_stream_deinit(struct record_stream *stream);

/* A chunk begins, at that time. The stack goes on. */
void record_stream_begin(struct record_stream *stream, uint64_t ticks, uint64_t monotonic_ns);

/* Whether the next record, of an event with so many frames, belongs into the next chunk. */
bool record_stream_is_full(const struct record_stream *stream, uint32_t frames);

/* The chunk ends, with that its records are in out. */
void record_stream_seal(struct record_stream *stream);

/*
 * An event, with its stack, outermost frame first. One that ends a block has none: stack NULL. Its
 * times may step back, which costs some bytes.
 */
void record_stream_event(struct record_stream *stream, const struct trace_event *event,
			 const struct record_frame *stack, uint32_t frames);

/* Any other record (section 4.2): fields, then text, both as the kind has them. A time is a field.
 */
void record_stream_fact(struct record_stream *stream, enum trace_record kind,
			const uint64_t *fields, size_t count, const void *text, size_t size);

#endif
