#include <stdlib.h>

#include "analysis/load/load.h"

static bool is_free(uint8_t kind)
{
	return kind >= TRACE_OP_FREE && kind <= TRACE_OP_DELETE_ARRAY;
}

/* Whether a bare pc was pushed. Its module depends on what all streams say up to that time. */
static bool has_bare_pc(const struct decode_stream *decode)
{
	for (uint32_t i = decode->kept; i < decode->depth; i++)
		if (!decode->stack[i].id && decode->stack[i].pc > TRACE_PC_LAST_SPECIAL)
			return true;
	return false;
}

/*
 * Looks up the stack of an event. *last: that must wait for the event's turn, so the decoder must
 * not go on. The first event of a batch need not wait: other streams have come as far as it.
 */
static inline struct err *prepare_stack(struct load *load, struct load_stream *stream,
					struct load_event *ahead, bool *last)
{
	if (load->stream_count > 1 && ahead != stream->events &&
	    has_bare_pc(&stream->cursor.decode)) {
		ahead->node = LOAD_NODE_LATER;
		*last = true;
		return NULL;
	}
	return load_stack(load, stream, ahead->event.time, &ahead->node);
}

static struct err *prepare_pool(struct load *load, struct load_stream *stream,
				struct load_event *ahead, bool *last)
{
	struct err *err = load_pool_ahead(load, &ahead->event);

	ahead->thread = stream->thread;
	ahead->node = RECORDING_NONE;
	if (err || (ahead->event.kind != TRACE_RECORD_POOL_ALLOC && !load->free_stacks))
		return err;
	return prepare_stack(load, stream, ahead, last);
}

/* Prepares an event before its turn: its stack. */
static inline struct err *prepare(struct load *load, struct load_stream *stream,
				  struct load_event *ahead, bool *last)
{
	const struct decode_event *event = &ahead->event;

	ahead->tag = stream->tag;
	ahead->thread = stream->thread;
	if (is_free(event->kind))
		address_table_expect(&load->recording->blocks->store.live, event->block.address);
	if (is_free(event->kind) && likely(!load->free_stacks)) {
		ahead->node = RECORDING_NONE;
		return NULL;
	}
	return prepare_stack(load, stream, ahead, last);
}

/* Counts the decoded events: those of one thread together, which is nearly always the batch. */
static void note_batch(struct load *load, uint32_t index)
{
	const struct load_stream *stream = &load->streams[index];
	const struct load_event *end = stream->events + stream->count;
	struct recorded_thread *threads = load->recording->tables->threads.items;

	load->recording->facts.events += stream->count;
	for (const struct load_event *ahead = stream->events; ahead < end;) {
		const struct load_event *from = ahead;
		uint32_t thread = ahead->thread;
		uint64_t first = UINT64_MAX, last = 0;

		for (; ahead < end && ahead->thread == thread; ahead++) {
			uint64_t time = ahead->event.time;

			first = time < first ? time : first;
			last = time > last ? time : last;
			if (is_free(ahead->event.kind))
				address_table_expect_take(&load->recording->blocks->store.live,
							  ahead->event.block.address);
		}
		threads[thread].events += (uint64_t)(ahead - from);
		load_note_time(load, thread, first);
		load_note_time(load, thread, last);
	}
}

struct err *load_ahead(struct load *load, uint32_t index, bool *ret)
{
	struct load_stream *stream = &load->streams[index];
	uint64_t done = stream->cursor.done;
	bool last = false, found = true;
	struct load_event *ahead;
	struct err *err;

	if (index == load->stream_count)
		return load_culled_ahead(load, stream, ret);
	if (!stream->events) {
		// Zeroed: a stream's own events are never halves of reallocs.
		stream->events = calloc(LOAD_AHEAD, sizeof(*stream->events));
		if (!stream->events)
			return err_no_memory();
	}
	for (ahead = stream->events; !last && ahead < stream->events + LOAD_AHEAD;) {
		err = stream_cursor_next_into(&stream->cursor, &ahead->event, &found);
		if (err)
			return err;
		if (!found)
			break;
		if (likely(ahead->event.kind <= TRACE_OP_DELETE_ARRAY))
			err = prepare(load, stream, ahead++, &last);
		else if (trace_is_pool_record(ahead->event.kind))
			err = prepare_pool(load, stream, ahead++, &last);
		else
			err = load_record(load, index, &ahead->event);
		if (err)
			return err;
	}
	load->done += stream->cursor.done - done;
	stream->next = 0;
	stream->count = (uint32_t)(ahead - stream->events);
	note_batch(load, index);
	*ret = stream->count;
	return NULL;
}
