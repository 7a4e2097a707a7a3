/*
 * Reads what CULL added to a recording: docs/trace-format.md, section 4.3. A survivor is written
 * long after its allocation, and perhaps in another stream. So all survivors are read before the
 * first event, and are merged with the events by time.
 */
#include <stdlib.h>

#include "analysis/load/load.h"
#include "base/first_where.h"

#define NODE_MASK UINT32_MAX

static struct err *add_frame(struct load *load, const struct decode_frame *frame, uint64_t ticks,
			     uint32_t *node)
{
	struct recording *recording = load->recording;
	uint32_t index = 0;
	struct err *err = frame_table_reference(&recording->tables->frames,
						&recording->tables->modules, frame, ticks, &index);

	return err ? err : stack_trie_insert(&recording->tables->trie, *node, index, node);
}

/* The stack of an id. If its definition was in a lost chunk, it is a single lost frame. */
struct err *load_culled_node(struct load *load, uint64_t id, uint32_t *depth, uint32_t *ret)
{
	const struct decode_frame lost = {.pc = TRACE_PC_LOST};
	uint64_t known = map_get(&load->culled.stacks, id);

	if (known == MAP_NONE) {
		*depth = 1;
		*ret = RECORDING_NONE;
		return add_frame(load, &lost, 0, ret);
	}
	*depth = (uint32_t)(known >> 32);
	*ret = (uint32_t)(known & NODE_MASK);
	return NULL;
}

/*
 * Takes the definition of a stack. The outer stack that it continues was defined before it, in the
 * same stream.
 */
static struct err *take_stack(struct load *load, const struct decode_event *event)
{
	struct decode_text frames = event->stack.frames;
	uint32_t node = RECORDING_NONE, depth = 0;
	struct decode_frame frame;
	struct err *err = NULL;
	uint64_t *place;

	if (event->stack.outer)
		err = load_culled_node(load, event->stack.outer, &depth, &node);
	while (!err && depth < DECODE_DEPTH_MAX && decode_stack_frame(&frames, &frame)) {
		err = add_frame(load, &frame, event->time, &node);
		depth++;
	}
	place = err ? NULL : map_put(&load->culled.stacks, event->stack.id);
	if (!place)
		return err ? err : err_no_memory();
	*place = (uint64_t)depth << 32 | node;
	return NULL;
}

static int compare_streams(const void *left, const void *right)
{
	uint64_t key = *(const uint64_t *)left;
	const struct recorded_thread *thread = right;

	return key < thread->stream ? -1 : key > thread->stream;
}

/*
 * Finds the survivor's thread: among the threads that its stream had one after the other, the one
 * that ran at that time. If the stream is lost, it stays the thread that wrote the record.
 */
static void find_thread(const struct load *load, struct load_survivor *survivor)
{
	const struct recorded_thread *threads = load->recording->tables->threads.items;
	const struct recorded_thread *first = bsearch(
		&survivor->stream, threads, load->stream_count, sizeof(*threads), compare_streams);
	const struct load_start *starts = load->culled.starts.items;
	size_t from, to, later;

	if (!first)
		return;
	survivor->thread = (uint32_t)(first - threads);
	from = load->streams[survivor->thread].next_start;
	to = survivor->thread + 1 < load->stream_count
		     ? load->streams[survivor->thread + 1].next_start
		     : load->culled.starts.count;
	// The last start that is not later than the survivor.
	later = first_where(i, from, to, starts[i].time > survivor->time);
	if (later > from)
		survivor->thread = starts[later - 1].thread;
}

static struct err *take_realloc(struct load_culled *culled, const struct load_survivor *survivor,
				const struct decode_event *event)
{
	struct load_survivor first = *survivor, second = *survivor;
	struct live_block unknown = {0};

	first.address = event->survivor.old_address;
	second.time += event->survivor.duration;
	second.second = true;
	if (culled->links.count >= UINT32_MAX - 1 || !vec_push(&culled->links, unknown))
		return err_no_memory();
	first.link = second.link = (uint32_t)culled->links.count;
	return vec_push(&culled->survivors, first) && vec_push(&culled->survivors, second)
		       ? NULL
		       : err_no_memory();
}

/* Takes a thread record that is not the stream's first. */
static struct err *take_start(struct load *load, uint32_t index, const struct decode_event *event,
			      uint32_t *thread)
{
	struct load_start start = {.stream = index, .time = event->time};
	struct err *err = load_thread_add(load, load->streams[index].number, &start.thread);

	if (err)
		return err;
	*thread = start.thread;
	return vec_push(&load->culled.starts, start) ? NULL : err_no_memory();
}

/* thread: the one that wrote the record. */
static struct err *take_record(struct load *load, uint32_t thread, const struct decode_event *event)
{
	struct load_culled *culled = &load->culled;

	if (event->kind == TRACE_RECORD_STACK)
		return take_stack(load, event);
	if (event->kind == TRACE_RECORD_CULLED) {
		struct load_sums sums = {
			.stack = event->culled.stack,
			.calls = event->culled.calls,
			.bytes = event->culled.bytes,
			.temporary = event->culled.temporary,
		};

		return vec_push(&culled->sums, sums) ? NULL : err_no_memory();
	}
	if (event->kind == TRACE_RECORD_SURVIVOR) {
		struct load_survivor survivor = {
			.time = event->time,
			.stack = event->survivor.stack,
			.address = event->survivor.address,
			.size = event->survivor.size,
			.alignment = event->survivor.alignment,
			.slack = event->survivor.slack,
			.stream = event->survivor.stream,
			.thread = thread,
			.tag = (uint32_t)event->survivor.tag,
			.operation = event->survivor.operation,
			.heap_flags = event->heap_flags,
		};

		if (survivor.operation > TRACE_OP_LAST_ALLOCATION)
			return take_realloc(culled, &survivor, event);
		return vec_push(&culled->survivors, survivor) ? NULL : err_no_memory();
	}
	return NULL;
}

static struct err *read_stream(struct load *load, uint32_t index)
{
	const struct stream_cursor *of = &load->streams[index].cursor;
	struct damage damage = {0}; // damage is counted when the events are read
	size_t first = (size_t)(of->chunks - load->index.chunks.items);
	uint32_t thread = index;
	struct stream_cursor cursor;
	struct err *err = NULL;
	bool found = true, introduced = false;

	load->streams[index].next_start = load->culled.starts.count;
	stream_cursor_init(&cursor, load->source, &damage, &load->index, first, first + of->count);
	while (!err && found) {
		err = stream_cursor_next(&cursor, &found);
		if (err || !found)
			break;
		if (cursor.event.kind != TRACE_RECORD_THREAD)
			err = take_record(load, thread, &cursor.event);
		else if (introduced)
			err = take_start(load, index, &cursor.event, &thread);
		introduced |= cursor.event.kind == TRACE_RECORD_THREAD;
	}
	stream_cursor_deinit(&cursor);
	return err;
}

static bool is_end(const struct load_survivor *survivor)
{
	return survivor->link && !survivor->second;
}

/*
 * Orders survivors by time. If times are equal, ends of old blocks come first: within a chain of
 * reallocs no two times are equal.
 */
static int compare_times(const void *left, const void *right)
{
	const struct load_survivor *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return is_end(b) - is_end(a);
}

struct err *load_culled_read(struct load *load)
{
	struct load_culled *culled = &load->culled;
	bool stacks = load->header.cull_ns || load->header.flags & TRACE_AGGREGATE;
	struct err *err = NULL;

	for (uint32_t i = 0; !err && stacks && i < load->stream_count; i++)
		err = read_stream(load, i);
	for (size_t i = 0; i < culled->survivors.count; i++)
		find_thread(load, &culled->survivors.items[i]);
	if (!err && culled->survivors.count)
		qsort(culled->survivors.items, culled->survivors.count,
		      sizeof(*culled->survivors.items), compare_times);
	return err;
}

static struct err *make_event(struct load *load, const struct load_survivor *survivor,
			      struct load_event *ret)
{
	uint32_t depth;

	*ret = (struct load_event){
		.tag = survivor->tag,
		.thread = survivor->thread,
		.link = survivor->link,
		.second = survivor->second,
		.event =
			{
				.kind = survivor->operation,
				.heap_flags = survivor->heap_flags,
				.time = survivor->time,
				.block =
					{
						.start = survivor->time,
						.address = survivor->address,
						.old_address = survivor->address,
						.size = survivor->size,
						.usable = survivor->size + survivor->slack,
						.alignment = survivor->alignment,
					},
			},
	};
	if (!survivor->second) {
		load->recording->facts.events++;
		load->recording->tables->threads.items[survivor->thread].events++;
	}
	load_note_time(load, survivor->thread, survivor->time);
	return load_culled_node(load, survivor->stack, &depth, &ret->node);
}

struct err *load_culled_ahead(struct load *load, struct load_stream *stream, bool *ret)
{
	struct load_culled *culled = &load->culled;
	struct err *err = NULL;

	stream->next = stream->count = 0;
	if (!stream->events && culled->survivors.count) {
		stream->events = malloc(LOAD_AHEAD * sizeof(*stream->events));
		if (!stream->events)
			return err_no_memory();
	}
	while (!err && stream->count < LOAD_AHEAD && culled->next < culled->survivors.count)
		err = make_event(load, &culled->survivors.items[culled->next++],
				 &stream->events[stream->count++]);
	*ret = stream->count;
	return err;
}

struct err *load_culled_add(struct load *load)
{
	struct recording *recording = load->recording;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < load->culled.sums.count; i++) {
		const struct load_sums *sums = &load->culled.sums.items[i];
		uint32_t depth, node = 0, site = 0;

		err = load_culled_node(load, sums->stack, &depth, &node);
		if (!err)
			err = site_table_at(&recording->sites, node, &site);
		if (err)
			return err;
		site_table_add(&recording->sites, site, sums->calls, sums->bytes, sums->temporary);
		recording->facts.culled_allocations += sums->calls;
		recording->facts.culled_bytes += sums->bytes;
	}
	return err;
}

void load_culled_deinit(struct load_culled *culled)
{
	map_deinit(&culled->stacks);
	vec_deinit(&culled->survivors);
	vec_deinit(&culled->sums);
	vec_deinit(&culled->starts);
	vec_deinit(&culled->links);
	*culled = (struct load_culled){0};
}
