#include "write/record_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/chunk_check.h"
#include "write/sealed_chunk.h"

void record_stream_init(struct record_stream *stream, struct buf *out, uint32_t number,
			enum trace_allocator allocator)
{
	*stream = (struct record_stream){
		.out = out,
		.payload = BUF_EMPTY,
		.header.stream = number,
		.glibc = allocator == TRACE_ALLOCATOR_GLIBC,
	};
}

void record_stream_deinit(struct record_stream *stream)
{
	buf_deinit(&stream->payload);
	free(stream->stack);
}

void record_stream_begin(struct record_stream *stream, uint64_t ticks, uint64_t monotonic_ns)
{
	struct trace_chunk *header = &stream->header;

	header->open_ticks = header->base_ticks = ticks;
	header->open_monotonic_ns = monotonic_ns;
	header->carried = stream->depth;
	stream->encoder = (struct trace_encoder){.time = ticks};
}

static bool is_full(const struct record_stream *stream, size_t bytes)
{
	return stream->payload.size && stream->payload.size + bytes > RECORD_STREAM_CHUNK;
}

/* The most bytes of a record of section 4.2. */
static size_t fact_max(size_t fields, size_t size)
{
	return 1 + (1 + fields) * VARINT_MAX + size;
}

bool record_stream_is_full(const struct record_stream *stream, uint32_t frames)
{
	return is_full(stream, TRACE_EVENT_MAX(frames));
}

bool record_stream_is_full_for(const struct record_stream *stream, size_t fields, size_t size)
{
	return is_full(stream, fact_max(fields, size));
}

void record_stream_seal(struct record_stream *stream)
{
	uint32_t sequence = chunk_sequence(&stream->header);

	if (stream->payload.failure && !stream->out->failure)
		stream->out->failure = stream->payload.failure;
	sealed_chunk_put(stream->out, TRACE_CHUNK_EVENTS, &stream->header, stream->payload.data,
			 stream->payload.size, NULL, 0);
	stream->payload.size = 0;
	stream->header.commit = trace_commit_word(sequence + 1, 0);
}

/* Copies the stack into the stream, as that of the last event. false: out of memory. */
static bool keep_stack(struct record_stream *stream, const struct record_frame *stack,
		       uint32_t frames)
{
	if (frames > stream->capacity) {
		struct record_frame *larger = realloc(stream->stack, frames * sizeof(*larger));

		if (!larger) {
			stream->payload.failure = ENOMEM;
			return false;
		}
		stream->stack = larger;
		stream->capacity = frames;
	}
	if (frames)
		memcpy(stream->stack, stack, frames * sizeof(*stack));
	stream->depth = frames;
	return true;
}

/* How many of the outermost frames are the same as in the last event's stack. */
static uint32_t same_frames(const struct record_stream *stream, const struct record_frame *stack,
			    uint32_t frames)
{
	uint32_t same = 0;

	while (same < frames && same < stream->depth && stack[same].id == stream->stack[same].id &&
	       stack[same].pc == stream->stack[same].pc)
		same++;
	return same;
}

static uint8_t *put_stack(const struct record_stream *stream, const struct record_frame *stack,
			  uint32_t frames, uint32_t same, uint8_t *p)
{
	p = trace_put_stack_change(p, stream->depth - same, frames - same);
	for (uint32_t i = same; i < frames; i++)
		p = trace_put_frame(p, stack[i].id, stack[i].pc);
	return p;
}

void record_stream_event(struct record_stream *stream, const struct trace_event *event,
			 const struct record_frame *stack, uint32_t frames)
{
	uint32_t same = stack ? same_frames(stream, stack, frames) : 0;
	bool change = stack && (same != frames || same != stream->depth);
	uint8_t *start = buf_room(&stream->payload, TRACE_EVENT_MAX(frames)), *p = start;
	bool extra;

	if (!start)
		return;
	p = trace_put_correction(p, &stream->encoder, event->ticks);
	extra = trace_event_needs_extra(&stream->encoder, event, TRACE_SHAPE_ANY, stream->glibc);
	*p++ = trace_event_head(event, change, extra);
	if (change)
		p = put_stack(stream, stack, frames, same, p);
	p = trace_put_event(p, &stream->encoder, event, TRACE_SHAPE_ANY, extra);
	if (change && !keep_stack(stream, stack, frames))
		return;
	stream->payload.size += (size_t)(p - start);
}

void record_stream_stack(struct record_stream *stream, const struct record_frame *stack,
			 uint32_t frames)
{
	const struct trace_event event = {.operation = TRACE_OP_STACK,
					  .ticks = stream->encoder.time};
	uint32_t same = same_frames(stream, stack, frames);

	if (same != frames || same != stream->depth)
		record_stream_event(stream, &event, stack, frames);
}

void record_stream_fact(struct record_stream *stream, enum trace_record kind,
			const uint64_t *fields, size_t count, const void *text, size_t size)
{
	uint8_t *start = buf_room(&stream->payload, fact_max(count, size));
	size_t length = size;
	uint8_t field[VARINT_MAX], *p = start;

	if (!start)
		return;
	for (size_t i = 0; i < count; i++)
		length += (size_t)(varint_put(field, fields[i]) - field);
	*p++ = kind;
	p = varint_put(p, length);
	for (size_t i = 0; i < count; i++)
		p = varint_put(p, fields[i]);
	if (size)
		p = mempcpy(p, text, size);
	stream->payload.size += (size_t)(p - start);
}
