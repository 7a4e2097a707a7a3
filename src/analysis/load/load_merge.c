#include "analysis/load/load.h"

static bool is_realloc(const struct decode_event *event)
{
	return event->kind == TRACE_OP_REALLOC || event->kind == TRACE_OP_REALLOCARRAY;
}

/* Also true for a record of a pool, which take_free() handles. */
static bool is_free(const struct decode_event *event)
{
	return event->kind >= TRACE_OP_FREE;
}

/* Makes that event the stream's current one. */
static void set_current(struct load_stream *stream, uint32_t next)
{
	const struct decode_event *event = &stream->events[next].event;

	stream->next = next;
	stream->second_half = stream->events[next].second;
	stream->frees =
		!stream->second_half &&
		((is_free(event) && event->kind != TRACE_RECORD_POOL_ALLOC) || is_realloc(event));
	stream->time = event->block.start;
}

/* Goes on to the stream's next event. *ret false: the stream is at its end. */
static struct err *advance(struct load *load, uint32_t index, bool *ret)
{
	struct load_stream *stream = &load->streams[index];
	uint32_t next = stream->next + 1;
	struct err *err;

	*ret = true;
	if (next >= stream->count) {
		err = load_ahead(load, index, ret);
		if (err || !*ret)
			return err;
		next = 0;
	}
	set_current(stream, next);
	return NULL;
}

/*
 * Whether stream a's event comes before b's. At the same time a free comes first: its block may be
 * allocated again.
 */
static bool earlier(const struct load *load, uint32_t a, uint32_t b)
{
	const struct load_stream *left = &load->streams[a], *right = &load->streams[b];

	if (left->time != right->time)
		return left->time < right->time;
	if (left->frees != right->frees)
		return left->frees;
	return left->number < right->number;
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

/*
 * Notes the stack of the free that ended a block. The stack may have waited for the event's turn.
 */
static struct err *take_free_stack(struct load *load, uint32_t index, struct load_event *event,
				   const struct live_block *block)
{
	struct err *err = load_event_stack(load, index, event);

	if (!err)
		block_store_note_free(&load->recording->blocks->store, block, event->node);
	return err;
}

/*
 * address: what the event frees; of a realloc the old block. *ret: that block, as
 * block_store_free() gives it.
 */
static struct err *take_free(struct load *load, uint32_t index, struct load_event *event,
			     uint64_t address, const struct live_block **ret)
{
	uint32_t thread = load_thread_number(load, event->thread);
	struct recording *recording = load->recording;
	struct heap_errors *errors = &recording->blocks->heap_errors;
	uint64_t implicit_frees;
	struct err *err;

	*ret = NULL;
	if (unlikely(trace_is_pool_record(event->event.kind)))
		return load_pool(load, index, thread, event);
	recording->facts.frees++;
	implicit_frees = recording->blocks->store.implicit_frees;
	err = block_store_free(&recording->blocks->store, &recording->sites, address, load->now,
			       thread, ret);
	if (unlikely(load->walk) && !err)
		err = load_walk_freed(load, index, *ret, implicit_frees);
	if (unlikely(load->free_stacks) && !err)
		err = take_free_stack(load, index, event, *ret);
	if (errors->wanted && !err) {
		errors->turns.items[thread]++;
		if (unlikely(!*ret) ||
		    unlikely(!heap_errors_match((*ret)->entry, event->event.kind)))
			err = load_watch_suspect(load, index, thread, event, address, *ret);
	}
	if (unlikely(recording->blocks->watched) && !err)
		err = load_watch_operation(load);
	return err;
}

static struct err *take_allocation(struct load *load, uint32_t index, struct load_event *event)
{
	uint32_t thread = load_thread_number(load, event->thread);
	struct recording *recording = load->recording;
	uint64_t implicit_frees = recording->blocks->store.implicit_frees;
	struct err *err;

	err = load_event_stack(load, index, event);
	if (err)
		return err;
	recording->facts.allocations++;
	err = block_store_allocate(&recording->blocks->store, &recording->sites, &event->event,
				   event->node, load->now, thread, event->tag);
	if (unlikely(load->walk) && !err)
		err = load_walk_allocated(load, index, implicit_frees);
	if (recording->blocks->heap_errors.wanted)
		recording->blocks->heap_errors.turns.items[thread]++;
	if (unlikely(recording->blocks->watched) && !err)
		err = load_watch_operation(load);
	return err;
}

/* Where the block that a realloc replaces is noted, from its first half to its second. */
static struct live_block *replaced_by(struct load *load, uint32_t index,
				      const struct load_event *event)
{
	return event->link ? &load->culled.links.items[event->link - 1]
			   : &load->streams[index].replaced;
}

/* The first half of a realloc: the old block ends. */
static struct err *begin_realloc(struct load *load, uint32_t index, struct load_event *event)
{
	const struct live_block *old;
	struct err *err;

	load->recording->facts.reallocs++;
	err = take_free(load, index, event, event->event.block.old_address, &old);
	if (err)
		return err;
	// The old block's own address is overwritten when it has ended.
	*replaced_by(load, index, event) = old ? *old : (struct live_block){0};
	replaced_by(load, index, event)->address = event->event.block.old_address;
	return NULL;
}

/* The second half of a realloc: a new block, linked to the old one. */
static struct err *finish_realloc(struct load *load, uint32_t index, struct load_event *event)
{
	const struct live_block *old = replaced_by(load, index, event);
	struct err *err = take_allocation(load, index, event);

	if (!err && old->number)
		block_store_succeed(&load->recording->blocks->store, old);
	if (unlikely(load->walk) && !err && old->number)
		load->recording->blocks->store.latest->ticks = old->ticks;
	return err;
}

/*
 * Moves the time on. Clocks of processors may differ, so times within a stream may step back a
 * little.
 */
static inline void pass_time(struct load *load, uint64_t time)
{
	if (time > load->now)
		load->now = time;
}

/*
 * Takes the stream's current event. *more: it is a realloc, and its allocation is still to come, at
 * the stream's new time.
 */
static struct err *take_event(struct load *load, uint32_t index, bool *more)
{
	struct load_stream *stream = &load->streams[index];
	struct load_event *event = &stream->events[stream->next];
	const struct live_block *block;

	*more = false;
	pass_time(load, stream->time);
	if (stream->second_half)
		return finish_realloc(load, index, event);
	if (is_free(&event->event))
		return take_free(load, index, event, event->event.block.address, &block);
	if (!is_realloc(&event->event))
		return take_allocation(load, index, event);
	if (!event->link) {
		stream->second_half = true;
		stream->frees = false;
		stream->time = event->event.time;
		*more = true;
	}
	return begin_realloc(load, index, event);
}

static struct err *begin(struct load *load)
{
	struct err *err = NULL;

	load->heap_count = 0;
	// Including the last one: the survivors.
	for (uint32_t i = 0; !err && i <= load->stream_count; i++) {
		struct load_stream *stream = &load->streams[i];

		if (!stream->has_current) {
			err = advance(load, i, &stream->has_current);
			load->late |= stream->has_current && stream->time < load->taken_before;
		}
		if (stream->has_current)
			load->heap[load->heap_count++] = i;
	}
	for (uint32_t i = load->heap_count / 2; i-- > 0;)
		sift_down(load, i);
	return err;
}

static uint64_t behind(uint64_t time)
{
	return time == UINT64_MAX ? time : time + 1;
}

/* The time of the earliest event that is not to be taken with those of the heap's first stream. */
static uint64_t others_time(const struct load *load, uint64_t until)
{
	uint64_t time = behind(until);

	for (uint32_t i = 1; i < 3 && i < load->heap_count; i++)
		if (load->streams[load->heap[i]].time < time)
			time = load->streams[load->heap[i]].time;
	return time;
}

/*
 * Takes the decoded events of the stream that are due before that time, without the last one. They
 * need no comparison with other streams: most programs have one thread, and of several threads one
 * often runs alone for a while.
 */
static struct err *take_run(struct load *load, uint32_t index, uint64_t until)
{
	struct load_stream *stream = &load->streams[index];
	struct load_event *event = &stream->events[stream->next];
	const struct load_event *last = &stream->events[stream->count - 1];
	const struct live_block *block;
	struct err *err = NULL;

	for (; !err && event < last && event->event.time < until; event++) {
		pass_time(load, event->event.block.start);
		if (is_free(&event->event)) {
			err = take_free(load, index, event, event->event.block.address, &block);
		} else if (!is_realloc(&event->event)) {
			err = take_allocation(load, index, event);
		} else {
			if (!event->second)
				err = begin_realloc(load, index, event);
			pass_time(load, event->event.time);
			if (!err && (!event->link || event->second))
				err = finish_realloc(load, index, event);
		}
	}
	set_current(stream, (uint32_t)(event - stream->events));
	return err;
}

struct err *load_merge(struct load *load, uint64_t until)
{
	const struct block_store *store = &load->recording->blocks->store;
	uint64_t turns = 0;
	struct err *err;
	bool more;

	err = begin(load);
	while (!err && !load->late && load->heap_count &&
	       load->streams[load->heap[0]].time <= until) {
		uint32_t stream = load->heap[0];

		err = take_event(load, stream, &more);
		if (!err && !more) {
			err = advance(load, stream, &more);
			if (!err && more)
				err = take_run(load, stream, others_time(load, until));
		}
		if (err)
			return err;
		load->streams[stream].has_current = more;
		if (!more)
			load->heap[0] = load->heap[--load->heap_count];
		if (load->heap_count > 1)
			sift_down(load, 0);
		if (load->progress && ++turns % 4096 == 0)
			load->progress(load->argument, load->done, load->index.payload);
	}
	if (!err && store->facts && facts_walk_failed(store->facts, &load->recording->sites))
		err = err_no_memory();
	// The clock may have changed, so that `until` is earlier than the last time.
	if (!load->late && behind(until) > load->taken_before)
		load->taken_before = behind(until);
	return err;
}
