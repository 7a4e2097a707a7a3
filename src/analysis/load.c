#include "analysis/load.h"

#include <stdlib.h>

#include "hosted/cleanup.h"

/* How late a free may be: docs/trace-format.md, section 8. */
#define WINDOW_NS 10000

static bool is_realloc(const struct decode_event *event)
{
	return event->kind == TRACE_OP_REALLOC || event->kind == TRACE_OP_REALLOCARRAY;
}

static bool is_free(const struct decode_event *event)
{
	return event->kind >= TRACE_OP_FREE && event->kind <= TRACE_OP_DELETE_ARRAY;
}

/*
 * Goes on to the stream's next operation on a block; records between are taken in at once: they
 * carry their own times. *ret false: the stream is at its end.
 */
static struct err *advance(struct load *load, uint32_t index, bool *ret)
{
	struct load_stream *stream = &load->streams[index];
	struct decode_event *event = &stream->cursor.event;
	struct err *err;
	bool found;

	for (;;) {
		uint64_t done = stream->cursor.done;

		err = stream_cursor_next(&stream->cursor, &found);
		if (err)
			return err;
		load->done += stream->cursor.done - done;
		if (!found) {
			*ret = false;
			return NULL;
		}
		if (event->kind <= TRACE_OP_DELETE_ARRAY)
			break;
		err = load_record(load, index);
		if (err)
			return err;
	}
	stream->second_half = false;
	stream->frees = is_free(event) || is_realloc(event);
	stream->time = event->block.start;
	*ret = true;
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
	struct load_stream *stream = &load->streams[index];

	load->recording->facts.frees++;
	return block_store_free(&load->recording->blocks, address, stream->time, index, ret);
}

static struct err *take_allocation(struct load *load, uint32_t index, uint64_t *ret)
{
	struct load_stream *stream = &load->streams[index];
	const struct decode_event *event = &stream->cursor.event;
	uint32_t node;
	struct err *err;

	err = load_stack(load, stream, event->time, &node);
	if (err)
		return err;
	load->recording->facts.allocations++;
	return block_store_allocate(&load->recording->blocks, event, stream->time, index, node,
				    ret);
}

/* The second half of a realloc: its new block, linked to the old one. */
static struct err *finish_realloc(struct load *load, struct load_stream *stream, uint32_t index)
{
	uint64_t block;
	struct err *err;

	err = take_allocation(load, index, &block);
	if (!err && stream->replaced != BLOCK_NONE)
		load->recording->blocks.successor[stream->replaced] = block;
	return err;
}

/*
 * What the stream's event does at its time. *more: the event is a realloc whose allocation is
 * still to come, at the stream's new time.
 */
static struct err *take_event(struct load *load, uint32_t index, bool *more)
{
	struct load_stream *stream = &load->streams[index];
	const struct decode_event *event = &stream->cursor.event;
	uint64_t block;
	struct err *err;

	*more = false;
	// A clock that differs between processors may step back a little within a stream.
	if (stream->time < load->now)
		stream->time = load->now;
	load->now = stream->time;
	if (stream->second_half)
		return finish_realloc(load, stream, index);
	load->recording->facts.events++;
	load->recording->threads.items[index].events++;
	load_note_time(load, index, event->time);
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

static struct err *merge(struct load *load)
{
	uint64_t events = 0;
	struct err *err;
	bool more;

	for (uint32_t i = 0; i < load->stream_count; i++) {
		err = advance(load, i, &more);
		if (err)
			return err;
		if (more)
			load->heap[load->heap_count++] = i;
	}
	for (uint32_t i = load->heap_count / 2; i-- > 0;)
		sift_down(load, i);
	while (load->heap_count) {
		uint32_t stream = load->heap[0];

		err = take_event(load, stream, &more);
		if (!err && !more)
			err = advance(load, stream, &more);
		if (err)
			return err;
		if (!more)
			load->heap[0] = load->heap[--load->heap_count];
		sift_down(load, 0);
		if (load->progress && ++events % 65536 == 0)
			load->progress(load->argument, load->done, load->index.payload);
	}
	return NULL;
}

/* One stream and one thread for each run of chunks with the same stream number. */
static struct err *make_streams(struct load *load)
{
	const struct indexed_chunk *chunks = load->index.chunks.items;
	size_t total = load->index.chunks.count, count = 0;

	for (size_t i = 0; i < total; i++)
		count += !i || chunks[i].header.stream != chunks[i - 1].header.stream;
	if (count >= RECORDING_NONE)
		return err_no_memory();
	load->streams = calloc(count + 1, sizeof(*load->streams));
	load->heap = calloc(count + 1, sizeof(*load->heap));
	if (!load->streams || !load->heap)
		return err_no_memory();
	for (size_t first = 0, end; first < total; first = end) {
		struct load_stream *stream = &load->streams[load->stream_count];
		struct recorded_thread thread = {
			.stream = chunks[first].header.stream,
			.name = "",
			.first_ns = UINT64_MAX,
		};

		for (end = first + 1; end < total; end++)
			if (chunks[end].header.stream != thread.stream)
				break;
		if (!vec_push(&load->recording->threads, thread))
			return err_no_memory();
		load->stream_count++;
		stream->replaced = BLOCK_NONE;
		stream_cursor_init(&stream->cursor, load->source, &load->damage, &chunks[first],
				   end - first);
	}
	return block_store_threads(&load->recording->blocks, load->stream_count);
}

static void load_deinit(struct load *load)
{
	for (uint32_t i = 0; i < load->stream_count; i++) {
		stream_cursor_deinit(&load->streams[i].cursor);
		free(load->streams[i].nodes);
	}
	free(load->streams);
	free(load->heap);
	chunk_index_deinit(&load->index);
}

struct err *load_recording(struct recording *recording, const struct byte_source *source,
			   recording_progress *progress, void *argument)
{
	cleanup(load_deinit) struct load load = {
		.recording = recording,
		.source = source,
		.progress = progress,
		.argument = argument,
	};
	struct err *err;

	err = load_header(&load);
	if (err)
		return err;
	err = chunk_index_build(source, &load.damage, &load.index);
	if (err)
		return err;
	load.clock = tick_clock_make(&load.header, load.index.latest_ticks,
				     load.index.latest_monotonic_ns);
	recording->blocks.window = tick_clock_span(&load.clock, WINDOW_NS);
	err = make_streams(&load);
	if (err)
		return err;
	err = merge(&load);
	if (err)
		return err;
	return load_finish(&load);
}
