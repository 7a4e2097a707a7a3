#include <stdlib.h>

#include "analysis/load.h"

static bool is_free(uint8_t kind)
{
	return kind >= TRACE_OP_FREE && kind <= TRACE_OP_DELETE_ARRAY;
}

/* Whether a frame was pushed whose module depends on what all streams say at that time. */
static bool has_bare_pc(const struct decode_stream *decode)
{
	for (uint32_t i = decode->kept; i < decode->depth; i++)
		if (!decode->stack[i].id && decode->stack[i].pc > TRACE_PC_LAST_SPECIAL)
			return true;
	return false;
}

/*
 * What an event needs before its turn. *last: its stack waits for its turn, so the decoder must
 * not go on. The first of a batch has its turn now, as far as other streams are concerned.
 */
static struct err *prepare(struct load *load, struct load_stream *stream, bool *last)
{
	struct load_event *ahead = &stream->events[stream->count++];
	const struct decode_event *event = &ahead->event;
	const struct live_table *live = &load->recording->blocks.live;

	live_table_expect(live, event->block.address);
	if (is_free(event->kind))
		return NULL;
	if (event->kind > TRACE_OP_LAST_ALLOCATION)
		live_table_expect(live, event->block.old_address);
	if (stream->count > 1 && load->stream_count > 1 && has_bare_pc(&stream->cursor.decode)) {
		ahead->node = LOAD_NODE_LATER;
		*last = true;
		return NULL;
	}
	return load_stack(load, stream, event->time, &ahead->node);
}

struct err *load_ahead(struct load *load, uint32_t index, bool *ret)
{
	struct load_stream *stream = &load->streams[index];
	uint64_t done = stream->cursor.done;
	bool last = false, found = true;
	struct err *err;

	if (!stream->events) {
		stream->events = malloc(LOAD_AHEAD * sizeof(*stream->events));
		if (!stream->events)
			return err_no_memory();
	}
	stream->next = stream->count = 0;
	while (!last && stream->count < LOAD_AHEAD) {
		struct decode_event *event = &stream->events[stream->count].event;

		err = stream_cursor_next_into(&stream->cursor, event, &found);
		if (err)
			return err;
		if (!found)
			break;
		if (event->kind <= TRACE_OP_DELETE_ARRAY)
			err = prepare(load, stream, &last);
		else
			err = load_record(load, index, event);
		if (err)
			return err;
	}
	load->done += stream->cursor.done - done;
	if (stream->count) {
		load->recording->facts.events += stream->count;
		load->recording->threads.items[index].events += stream->count;
		for (uint32_t i = 0; i < stream->count; i++)
			load_note_time(load, index, stream->events[i].event.time);
	}
	*ret = stream->count;
	return NULL;
}
