#include "random_recording.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "random_recording_inside.h"
#include "trace/format.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define HEAD    64
#define TRAILER 8

uint64_t random_recording_draw(struct random_recording *random, uint64_t below)
{
	return random_next(&random->random) % below;
}

/* Makes the file larger by zeros. Returns where they begin. */
static size_t extend(struct random_recording *random, size_t size)
{
	size_t at = random->size;

	random->file = realloc(random->file, at + size);
	if (!random->file)
		abort();
	memset(random->file + at, 0, size);
	random->size += size;
	return at;
}

static void put(struct random_recording *random, size_t at, uint64_t value, size_t width)
{
	for (size_t i = 0; i < width; i++)
		random->file[at + i] = (uint8_t)(value >> (8 * i));
}

static void set_trailer(struct random_recording *random, size_t at, size_t size)
{
	put(random, at + size - TRAILER, XXH64(random->file + at, size - TRAILER, 0), TRAILER);
}

static void commit(struct random_recording *random, const struct random_stream *stream)
{
	put(random, stream->slot + 24, stream->slot_committed, 4);
	put(random, stream->slot + 28, stream->slot_sequence, 4);
}

static void open_slot(struct random_recording *random, struct random_stream *stream,
		      const struct random_item *item)
{
	if (!stream->has_slot) {
		stream->slot = extend(random, item->value);
		stream->has_slot = true;
		stream->slot_sequence = 0;
		memcpy(&stream->slot_sequence, stream->encoder.data + item->from + 28, 4);
	}
	stream->slot_committed = 0;
	memcpy(random->file + stream->slot, stream->encoder.data + item->from, HEAD);
	put(random, stream->slot + 12, item->value, 4);
	commit(random, stream);
}

/* Copies the slot to the end of the file: its first half, then all of it. */
static void append(struct random_recording *random, struct random_stream *stream,
		   const struct random_item *item)
{
	size_t size = item->value;

	if (item->kind == RANDOM_APPEND_PART) {
		stream->part = extend(random, size);
		memcpy(random->file + stream->part, random->file + stream->slot, size / 2);
		put(random, stream->part + 20, TRACE_CHUNK_SEALED, 4);
		return;
	}
	memcpy(random->file + stream->part, random->file + stream->slot, size);
	put(random, stream->part + 20, TRACE_CHUNK_SEALED, 4);
	set_trailer(random, stream->part, size);
}

static void take(struct random_recording *random, const struct random_item *item)
{
	struct random_stream *stream = &random->streams[item->stream];

	switch (item->kind) {
	case RANDOM_OPEN_WORD:
		stream->slot_sequence++;
		stream->slot_committed = 0;
		commit(random, stream);
		break;
	case RANDOM_OPEN:
		open_slot(random, stream, item);
		break;
	case RANDOM_COMMIT:
		memcpy(random->file + stream->slot + HEAD + stream->slot_committed,
		       stream->encoder.data + item->from, item->to - item->from);
		stream->slot_committed += (uint32_t)(item->to - item->from);
		commit(random, stream);
		break;
	case RANDOM_APPEND_PART:
	case RANDOM_APPEND:
		append(random, stream, item);
		break;
	case RANDOM_SEAL:
		put(random, stream->slot + 20, TRACE_CHUNK_SEALED, 4);
		set_trailer(random, stream->slot, item->value);
		stream->has_slot = false;
		break;
	case RANDOM_HOLE:
		extend(random, 4096);
		break;
	case RANDOM_POKE:
		put(random, item->from, item->value, item->width);
		break;
	}
}

bool random_recording_go_on(struct random_recording *random, size_t items)
{
	for (; items && random->next_item < random->item_count; items--)
		take(random, &random->items[random->next_item++]);
	return random->next_item < random->item_count;
}

static int compare(const void *left, const void *right)
{
	const struct random_item *a = left, *b = right;

	if (a->visible != b->visible)
		return a->visible < b->visible ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Draws what holds for the whole recording, and makes the header. */
static void make_header(struct random_recording *random)
{
	static const uint32_t flags[] = {0, 8, 8, 8, 1, 16, 9};
	struct trace_writer header;
	uint32_t chosen = flags[random_recording_draw(random, 7)];

	random->stream_count = 1 + (uint32_t)random_recording_draw(random, RANDOM_STREAMS);
	random->rate = random_recording_draw(random, 4) ? 2.5 : 1;
	random->pools = random_recording_draw(random, 2);
	random->very_late = !random_recording_draw(random, 4);
	random->uneven = !random_recording_draw(random, 8);
	random->free_stacks = chosen & 8;
	random->now = RANDOM_START;
	trace_writer_init(&header);
	trace_writer_poke(&header, 70, random_recording_draw(random, 2) ? 1 : 3, 1);
	trace_writer_poke(&header, 72, chosen, 4);
	trace_writer_poke(&header, 76, 0, 4);
	trace_writer_poke(&header, 80, RANDOM_START, 8);
	trace_writer_poke(&header, 88, RANDOM_START_NS, 8);
	trace_writer_poke(&header, 104, 0, 4);
	if (!random_recording_draw(random, 4))
		trace_writer_poke(&header, 112, 300, 8);
	if (!random_recording_draw(random, 12))
		trace_writer_poke(&header, 120, 1000, 8);
	extend(random, header.size);
	memcpy(random->file, header.data, header.size);
	trace_writer_deinit(&header);
}

void random_recording_init(struct random_recording *random, uint64_t seed)
{
	*random = (struct random_recording){.random = seed};
	make_header(random);
	random_events_make(random);
	qsort(random->items, random->item_count, sizeof(*random->items), compare);
}

void random_recording_deinit(struct random_recording *random)
{
	for (uint32_t i = 0; i < RANDOM_STREAMS; i++)
		trace_writer_deinit(&random->streams[i].encoder);
	free(random->items);
	free(random->file);
	*random = (struct random_recording){0};
}
