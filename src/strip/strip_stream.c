#include "strip/strip_stream.h"

#include <stdlib.h>

void strip_copy_deinit(struct strip_copy *copy)
{
	record_stream_deinit(&copy->stream);
	buf_deinit(&copy->chunks);
	buf_deinit(&copy->text);
	vec_deinit(&copy->frames);
}

void strip_stream_begin(struct strip_copy *copy, uint32_t number, uint64_t ticks,
			uint64_t monotonic_ns)
{
	record_stream_init(&copy->stream, &copy->chunks, number, copy->header.allocator);
	record_stream_begin(&copy->stream, ticks, monotonic_ns);
}

/* Ends the chunk, and writes it out. */
static struct err *seal(struct strip_copy *copy)
{
	record_stream_seal(&copy->stream);
	if (copy->chunks.failure)
		return err_no_memory();
	buf_append(copy->out, &copy->chunks);
	copy->chunks.size = 0;
	return copy->out->failure ? buf_finish(copy->out) : NULL;
}

struct err *strip_stream_next(struct strip_copy *copy, uint64_t ticks, uint64_t monotonic_ns)
{
	struct err *err = seal(copy);

	if (!err)
		record_stream_begin(&copy->stream, ticks, monotonic_ns);
	return err;
}

struct err *strip_stream_end(struct strip_copy *copy)
{
	struct err *err = seal(copy);

	record_stream_deinit(&copy->stream);
	copy->stream = (struct record_stream){0};
	return err;
}

/* The stack as it stands. Frames that have not changed since the last call are there already. */
static struct err *take_stack(struct strip_copy *copy, struct decode_stream *decode)
{
	// There is always room: a stack of no frames is one, too.
	if (decode->depth >= copy->frames.capacity) {
		copy->frames.count = 0;
		decode->kept = 0;
		if (!vec_reserve(&copy->frames, (size_t)decode->depth + 64))
			return err_no_memory();
	}
	for (uint32_t i = decode->kept; i < decode->depth; i++) {
		if (decode->stack[i].id > UINT32_MAX)
			return err_create("%s: has numbers of frames above %u, which cannot be "
					  "written",
					  copy->source->name, UINT32_MAX);
		copy->frames.items[i] =
			(struct record_frame){(uint32_t)decode->stack[i].id, decode->stack[i].pc};
	}
	decode->kept = decode->depth;
	return NULL;
}

static bool has_stack(const struct strip_copy *copy, uint8_t kind)
{
	switch (kind) {
	case TRACE_RECORD_MMAP:
	case TRACE_RECORD_MUNMAP:
	case TRACE_RECORD_MREMAP:
	case TRACE_RECORD_BRK:
	case TRACE_RECORD_MALLOPT:
	case TRACE_RECORD_FAILED:
	case TRACE_RECORD_POOL_ALLOC:
		return true;
	case TRACE_OP_FREE:
	case TRACE_OP_DELETE:
	case TRACE_OP_DELETE_ARRAY:
	case TRACE_RECORD_POOL_FREE:
	case TRACE_RECORD_POOL_RESET:
		return copy->header.flags & TRACE_FREE_STACKS;
	default:
		return kind <= TRACE_OP_REALLOCARRAY;
	}
}

static bool is_realloc(uint8_t kind)
{
	return kind == TRACE_OP_REALLOC || kind == TRACE_OP_REALLOCARRAY;
}

/*
 * The event that is left of one: of a realloc perhaps a free, or an allocation. old, new: whether
 * these blocks stay.
 */
static struct trace_event remaining(const struct decode_event *event, bool old, bool new)
{
	struct trace_event left = {
		.operation = event->kind,
		.heap_flags = event->heap_flags,
		.ticks = event->block.start,
		.duration = event->time - event->block.start,
		.old_address = event->block.old_address,
		.address = event->block.address,
		.size = event->block.size,
		.alignment = event->block.alignment,
		.slack = event->block.usable - event->block.size,
	};

	if (!is_realloc(event->kind) || (old && new))
		return left;
	if (new) {
		left.operation = event->kind == TRACE_OP_REALLOC ? TRACE_OP_REALLOC_NULL
								 : TRACE_OP_REALLOCARRAY_NULL;
		left.ticks = event->time;
	} else {
		left.operation = TRACE_OP_FREE;
		left.address = event->block.old_address;
	}
	return left;
}

/* at: how many operations of the stream came before. */
static struct err *copy_operation(struct strip_copy *copy, struct decode_stream *decode,
				  const struct decode_event *event, const struct strip_bits *bits,
				  uint64_t *at)
{
	bool old = !bits || strip_bit(bits, (*at)++), new = old;
	struct trace_event left;
	struct err *err = NULL;
	bool stacked;

	if (bits && is_realloc(event->kind))
		new = strip_bit(bits, (*at)++);
	if (!old && !new)
		return NULL;
	left = remaining(event, old, new);
	stacked = has_stack(copy, left.operation);
	if (stacked)
		err = take_stack(copy, decode);
	if (!err && record_stream_is_full(&copy->stream, decode->depth))
		err = strip_stream_next(copy, copy->stream.header.open_ticks,
					copy->stream.header.open_monotonic_ns);
	if (err)
		return err;
	record_stream_event(&copy->stream, &left, stacked ? copy->frames.items : NULL,
			    decode->depth);
	return NULL;
}

/*
 * Whether something is missing between the chunks that the cursor was at and is at now. What is
 * damaged counts, too: it is missing in what we write.
 */
static bool is_gap(const struct stream_cursor *cursor, size_t before)
{
	for (size_t i = before; i < cursor->next; i++)
		if (chunk_sequence(&cursor->chunks[i].header) !=
		    (i ? chunk_sequence(&cursor->chunks[i - 1].header) + 1 : 0))
			return true;
	return false;
}

/* Goes on behind a gap, in a chunk that leaves out a number. */
static struct err *leave_gap(struct strip_copy *copy, const struct trace_chunk *chunk)
{
	struct record_stream *stream = &copy->stream;
	bool empty = !stream->payload.size && !chunk_sequence(&stream->header);
	struct err *err = empty ? NULL : seal(copy);

	if (err)
		return err;
	stream->header.commit = trace_commit_word(chunk_sequence(&stream->header) + 1, 0);
	stream->depth = 0;
	record_stream_begin(stream, chunk->open_ticks, chunk->open_monotonic_ns);
	return NULL;
}

static bool is_name(uint8_t kind)
{
	return kind == TRACE_RECORD_FRAME || kind == TRACE_RECORD_MODULE;
}

static struct err *copy_event(struct strip_copy *copy, struct decode_stream *decode,
			      const struct decode_event *event, const struct strip_bits *bits,
			      uint64_t *at)
{
	bool stacked = has_stack(copy, event->kind);
	struct err *err = NULL;

	if (event->kind <= TRACE_OP_DELETE_ARRAY)
		return copy_operation(copy, decode, event, bits, at);
	if (event->kind < TRACE_OTHER)
		return NULL;
	if (stacked)
		err = take_stack(copy, decode);
	return err ? err : strip_record(copy, decode, event, stacked);
}

struct err *strip_stream_copy(struct strip_copy *copy, size_t first, size_t end,
			      const struct strip_bits *bits, bool only_names)
{
	struct stream_cursor cursor;
	struct err *err = NULL;
	bool found = true;
	uint64_t at = 0, damaged = copy->damage.chunks;

	stream_cursor_init(&cursor, copy->source, &copy->damage, copy->index, first, end);
	while (!err && found) {
		size_t before = cursor.next;
		bool gap;

		err = stream_cursor_next(&cursor, &found);
		if (err)
			break;
		gap = is_gap(&cursor, before) || copy->damage.chunks != damaged;
		damaged = copy->damage.chunks;
		if (gap && !only_names)
			err = leave_gap(copy, &cursor.chunks[cursor.next - 1].header);
		if (before != cursor.next && copy->progress)
			copy->progress(copy->argument, copy->done + cursor.done,
				       copy->index->payload);
		if (!err && found && (!only_names || is_name(cursor.event.kind)))
			err = copy_event(copy, &cursor.decode, &cursor.event, bits, &at);
	}
	copy->done += cursor.done;
	stream_cursor_deinit(&cursor);
	return err;
}
