#include "analysis/load.h"

static bool is_realloc(const struct decode_event *event)
{
	return event->kind == TRACE_OP_REALLOC || event->kind == TRACE_OP_REALLOCARRAY;
}

static bool is_free(const struct decode_event *event)
{
	return event->kind >= TRACE_OP_FREE;
}

/* Goes on to the stream's next event. *ret false: the stream is at its end. */
static struct err *advance(struct load *load, uint32_t index, bool *ret)
{
	struct load_stream *stream = &load->streams[index];
	const struct decode_event *event;
	struct err *err;

	*ret = true;
	if (++stream->next >= stream->count) {
		err = load_ahead(load, index, ret);
		if (err || !*ret)
			return err;
	}
	event = &stream->events[stream->next].event;
	stream->second_half = false;
	stream->frees = is_free(event) || is_realloc(event);
	stream->time = event->block.start;
	return NULL;
}

/* At the same moment a free comes first: the block may be given out again. */
static bool earlier(const struct load *load, uint32_t a, uint32_t b)
{
	const struct load_stream *left = &load->streams[a], *right = &load->streams[b];

	if (left->time != right->time)
		return left->time < right->time;
	if (left->frees != right->frees)
		return left->frees;
	return a < b;
}

static void sift_down(struct load *load, uint32_t at)
{
	uint32_t *heap = load->heap;
	uint32_t moving = heap[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= load->heap_count)
			break;
		if (child + 1 < load->heap_count && earlier(load, heap[child + 1], heap[child]))
			child++;
		if (!earlier(load, heap[child], moving))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moving;
}

static struct err *take_free(struct load *load, uint32_t index, uint64_t address, uint64_t *ret)
{
	struct recording *recording = load->recording;

	recording->facts.frees++;
	return block_store_free(&recording->blocks, &recording->sites, address,
				load->streams[index].time, index, ret);
}

static struct err *take_allocation(struct load *load, uint32_t index, uint64_t *ret)
{
	struct load_stream *stream = &load->streams[index];
	struct load_event *event = &stream->events[stream->next];
	struct recording *recording = load->recording;
	struct err *err;

	if (__builtin_expect(event->node == LOAD_NODE_LATER, 0)) {
		err = load_stack(load, stream, event->event.time, &event->node);
		if (err)
			return err;
	}
	recording->facts.allocations++;
	return block_store_allocate(&recording->blocks, &recording->sites, &event->event,
				    event->node, stream->time, index, ret);
}

/* The second half of a realloc: its new block, linked to the old one. */
static struct err *finish_realloc(struct load *load, struct load_stream *stream, uint32_t index)
{
	uint64_t block = BLOCK_NONE;
	struct err *err;

	err = take_allocation(load, index, &block);
	if (!err)
		block_store_succeed(&load->recording->blocks, stream->replaced, block);
	return err;
}

/*
 * What the stream's event does at its time. *more: the event is a realloc whose allocation is
 * still to come, at the stream's new time.
 */
static struct err *take_event(struct load *load, uint32_t index, bool *more)
{
	struct load_stream *stream = &load->streams[index];
	const struct decode_event *event = &stream->events[stream->next].event;
	uint64_t block;
	struct err *err;

	*more = false;
	// A clock that differs between processors may step back a little within a stream.
	if (stream->time < load->now)
		stream->time = load->now;
	load->now = stream->time;
	if (stream->second_half)
		return finish_realloc(load, stream, index);
	if (is_free(event))
		return take_free(load, index, event->block.address, &block);
	if (!is_realloc(event))
		return take_allocation(load, index, &block);
	load->recording->facts.reallocs++;
	err = take_free(load, index, event->block.old_address, &stream->replaced);
	stream->second_half = true;
	stream->frees = false;
	stream->time = event->time;
	*more = true;
	return err;
}

static struct err *begin(struct load *load)
{
	struct err *err;
	bool more;

	load->heap_count = 0;
	for (uint32_t i = 0; i < load->stream_count; i++) {
		err = advance(load, i, &more);
		if (err)
			return err;
		if (more)
			load->heap[load->heap_count++] = i;
	}
	for (uint32_t i = load->heap_count / 2; i-- > 0;)
		sift_down(load, i);
	return NULL;
}

/*
 * What was decoded of the only stream left. With one stream to merge there is nothing to compare;
 * most programs have one thread, and the last one of many often runs alone.
 */
static struct err *take_batch(struct load *load, uint32_t index)
{
	struct load_stream *stream = &load->streams[index];
	struct err *err;
	bool more;

	do {
		err = take_event(load, index, &more);
		if (!err && more)
			err = take_event(load, index, &more);
		if (err)
			return err;
		stream->time = stream->events[++stream->next].event.block.start;
		stream->second_half = false;
	} while (stream->next + 1 < stream->count);
	return NULL;
}

struct err *load_merge(struct load *load)
{
	uint64_t events = 0;
	struct err *err;
	bool more;

	err = begin(load);
	while (!err && load->heap_count) {
		uint32_t stream = load->heap[0];

		if (load->heap_count == 1 &&
		    load->streams[stream].next + 1 < load->streams[stream].count &&
		    !load->streams[stream].second_half) {
			err = take_batch(load, stream);
			if (err)
				return err;
		}
		err = take_event(load, stream, &more);
		if (!err && !more)
			err = advance(load, stream, &more);
		if (err)
			return err;
		if (!more)
			load->heap[0] = load->heap[--load->heap_count];
		if (load->heap_count > 1)
			sift_down(load, 0);
		if (load->progress && ++events % 65536 == 0)
			load->progress(load->argument, load->done, load->index.payload);
	}
	return err;
}
