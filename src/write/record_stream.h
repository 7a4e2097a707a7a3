/*
 * Writes one stream of a recording: events and other records, in their order, in sealed chunks one
 * after the other (docs/trace-format.md, sections 3 to 5). It encodes as the agent does
 * (trace/encode_event.h). The caller writes the file's header.
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
 * Out of memory: out fails (buf_finish() tells), and nothing more is written. One thread at a time.
 */
#ifndef MALLOW_WRITE_RECORD_STREAM_H
#define MALLOW_WRITE_RECORD_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/buf.h"
#include "trace/encode_event.h"

/* The size at which a chunk is full, in bytes of payload; the stack of one event may take more. */
#define RECORD_STREAM_CHUNK (256u << 10)

/* A frame: the id of a frame record that was written before, in any stream; or id 0 and its pc. */
struct record_frame {
	uint32_t id;
	uint64_t pc;
};

struct record_stream {
	struct buf *out;           /* borrowed, a buffer in memory: where the chunks go */
	struct buf payload;        /* of the chunk being written */
	struct trace_chunk header; /* of the chunk being written */
	struct trace_encoder encoder;
	struct record_frame *stack; /* of the last event that had one, outermost first */
	uint32_t depth, capacity;
	bool glibc; /* readers know usable sizes: trace_glibc_usable() */
};

/* number: the stream's, from 0. out is borrowed until record_stream_deinit(). */
void record_stream_init(struct record_stream *stream, struct buf *out, uint32_t number,
			enum trace_allocator allocator);
void record_stream_deinit(struct record_stream *stream);

/* Begins a chunk at that time. The stack stays as it was at the end of the last chunk. */
void record_stream_begin(struct record_stream *stream, uint64_t ticks, uint64_t monotonic_ns);

/* Whether an event with so many frames belongs into the next chunk: seal this one first. */
bool record_stream_is_full(const struct record_stream *stream, uint32_t frames);
/* The same of any other record with so many fields, and a text of size bytes. */
bool record_stream_is_full_for(const struct record_stream *stream, size_t fields, size_t size);

/* Ends the chunk and puts it into out. */
void record_stream_seal(struct record_stream *stream);

/*
 * Writes an event and its stack, outermost frame first. stack NULL: the event has none, as the end
 * of a block. ticks may be earlier than the last event's, which costs some bytes.
 */
void record_stream_event(struct record_stream *stream, const struct trace_event *event,
			 const struct record_frame *stack, uint32_t frames);

/* Makes this the stream's stack, for a record that belongs to the stack as it stands. */
void record_stream_stack(struct record_stream *stream, const struct record_frame *stack,
			 uint32_t frames);

/*
 * Writes any other record (section 4.2): its fields in the order of the format, a time being one of
 * them, then its text of size bytes (NULL if 0).
 */
void record_stream_fact(struct record_stream *stream, enum trace_record kind,
			const uint64_t *fields, size_t count, const void *text, size_t size);

#endif
