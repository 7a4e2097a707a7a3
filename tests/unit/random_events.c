/* What happens in a random recording, and when it comes to the file. */
#include <stdlib.h>

#include "random_recording_inside.h"
#include "trace/format.h"

#define MOST_RECORD 200 /* bytes that a record takes at most, and more */
#define CHUNK_HEAD  64
#define OVERHEAD    72 /* of a chunk: header and trailer */

static uint64_t draw(struct random_recording *random, uint64_t below)
{
	return random_recording_draw(random, below);
}

bool random_one_in(struct random_recording *random, uint64_t many)
{
	return !draw(random, many);
}

static uint64_t ticks(const struct random_recording *random, uint64_t nanoseconds)
{
	return (uint64_t)((double)nanoseconds * random->rate);
}

static struct random_item *add_item(struct random_recording *random, uint64_t visible,
				    enum random_item_kind kind)
{
	struct random_item *item;

	if (random->item_count == random->item_capacity) {
		random->item_capacity = random->item_capacity ? random->item_capacity * 2 : 1024;
		random->items =
			realloc(random->items, random->item_capacity * sizeof(*random->items));
		if (!random->items)
			abort();
	}
	item = &random->items[random->item_count];
	*item = (struct random_item){
		.visible = visible, .kind = kind, .number = random->item_count++};
	return item;
}

/* When what the stream does at that time is in the file. */
static uint64_t seen(struct random_recording *random, struct random_stream *stream, uint64_t time)
{
	uint64_t lag = draw(random, 1000);

	if (random_one_in(random, 60))
		lag = draw(random, 90000000);
	if (random->very_late && random_one_in(random, 150))
		lag = draw(random, 400000000);
	if (time + ticks(random, lag) > stream->visible)
		stream->visible = time + ticks(random, lag);
	return stream->visible;
}

static uint32_t number_of(const struct random_recording *random, const struct random_stream *stream)
{
	return (uint32_t)(stream - random->streams);
}

static void add_step(struct random_recording *random, struct random_stream *stream,
		     enum random_item_kind kind)
{
	struct random_item *item = add_item(random, seen(random, stream, random->now), kind);

	item->stream = number_of(random, stream);
	item->from = stream->encoder.chunk;
	item->value = stream->slot_size;
}

/* The clock of the system, which does not go quite as evenly as that of the processor. */
static uint64_t monotonic_ns(struct random_recording *random)
{
	return RANDOM_START_NS + (uint64_t)((double)(random->now - RANDOM_START) / random->rate) +
	       draw(random, random->uneven ? 30000000 : 2000);
}

static void open_chunk(struct random_recording *random, struct random_stream *stream)
{
	uint32_t carried = random_one_in(random, 2) ? 0 : (uint32_t)draw(random, stream->depth + 1);

	trace_writer_chunk(&stream->encoder, number_of(random, stream), stream->sequence,
			   TRACE_WRITER_SLOT);
	trace_writer_base(&stream->encoder, random->now);
	trace_writer_clock(&stream->encoder, random->now,
			   random_one_in(random, 12) ? 0 : monotonic_ns(random));
	trace_writer_carried(&stream->encoder, carried);
	stream->depth = carried;
	stream->limit = MOST_RECORD + draw(random, random_one_in(random, 4) ? 3600 : 900);
	add_step(random, stream, RANDOM_OPEN);
}

/* Seals the slot, and goes on in it, or in a larger one. */
static void roll(struct random_recording *random, struct random_stream *stream)
{
	stream->sequence++;
	if (random_one_in(random, 20))
		add_item(random, stream->visible, RANDOM_HOLE);
	if (random_one_in(random, 3)) {
		add_step(random, stream, RANDOM_SEAL);
		stream->slot_size += 4096;
	} else {
		add_step(random, stream, RANDOM_APPEND_PART);
		add_step(random, stream, RANDOM_APPEND);
		add_step(random, stream, RANDOM_OPEN_WORD);
	}
	open_chunk(random, stream);
}

/* Calls this after each record, which began at `from`: it comes to the file. */
void random_finish_record(struct random_recording *random, struct random_stream *stream,
			  size_t from)
{
	struct trace_writer *encoder = &stream->encoder;
	uint64_t time = encoder->time > random->now ? encoder->time : random->now;
	struct random_item *item = add_item(random, seen(random, stream, time), RANDOM_COMMIT);

	item->stream = number_of(random, stream);
	item->from = from;
	item->to = encoder->size;
	if (encoder->size - encoder->chunk - CHUNK_HEAD > stream->limit)
		roll(random, stream);
}

/* How long after the stream's last event the present one is. Its time may step back. */
static uint64_t since_last(struct random_recording *random, struct random_stream *stream)
{
	struct trace_writer *encoder = &stream->encoder;
	uint64_t time = random->now;

	if (random_one_in(random, 80) && time > RANDOM_START + 2000)
		time -= draw(random, 2000);
	if (time < encoder->time && random_one_in(random, 5)) {
		size_t from = encoder->size;

		trace_writer_time(encoder, TRACE_OP_TIME, time);
		random_finish_record(random, stream, from);
	}
	return time > encoder->time ? time - encoder->time : 0;
}

/* An address in a place where modules are loaded, or in one where none ever is. */
unsigned int random_some_pc(struct random_recording *random)
{
	return 0x400001 + 0x10000 * (unsigned int)draw(random, RANDOM_REGIONS + 1) +
	       16 * (unsigned int)draw(random, 8);
}

/* A frame that was defined, perhaps a moment ago in another stream, now and then one that never is.
 */
static unsigned int some_frame(struct random_recording *random)
{
	return 1 + (unsigned int)draw(random, random->frames + 1);
}

/* The change of the stack that goes into the stream's next record. */
void random_change_stack(struct random_recording *random, struct random_stream *stream)
{
	uint32_t drop = (uint32_t)draw(random, stream->depth < 4 ? stream->depth + 1 : 4);
	uint32_t push = stream->depth > 30 ? 0 : (uint32_t)draw(random, 4);

	if (random_one_in(random, 6)) {
		push = 1;
		trace_writer_push_pcs(&stream->encoder, drop, push,
				      random_one_in(random, 5) ? 2 : random_some_pc(random));
	} else {
		trace_writer_push(&stream->encoder, drop, push, some_frame(random),
				  some_frame(random), some_frame(random));
	}
	stream->depth += push - drop;
}

/* The number of a place that is live, or not; RANDOM_ADDRESSES: none was met. */
static uint64_t some_place(struct random_recording *random, bool live)
{
	for (int i = 0; i < 40; i++) {
		uint64_t place = draw(random, RANDOM_ADDRESSES);

		if (random->live[place] == live)
			return place;
	}
	return RANDOM_ADDRESSES;
}

static uint64_t address_of(uint64_t place)
{
	return 0x100000 + 0x4000 * place + (place % 3 ? 0 : 8);
}

static uint64_t some_size(struct random_recording *random)
{
	return random_one_in(random, 40) ? draw(random, 4000000) : draw(random, 600);
}

static void allocate(struct random_recording *random, struct random_stream *stream)
{
	bool again = random_one_in(random, 25);
	uint64_t place = some_place(random, again);
	uint8_t operation = (uint8_t)(1 + draw(random, 17));
	bool aligned = (operation >= 5 && operation <= 7) || operation >= 14;
	uint64_t dt = since_last(random, stream);
	size_t from = stream->encoder.size;

	if (place == RANDOM_ADDRESSES)
		return;
	if (draw(random, 3))
		random_change_stack(random, stream);
	if (aligned)
		trace_writer_allocate_aligned(&stream->encoder, operation, dt, address_of(place),
					      some_size(random), 64);
	else if (random_one_in(random, 8))
		trace_writer_allocate_extra(&stream->encoder, operation, dt, address_of(place),
					    some_size(random), draw(random, 400));
	else
		trace_writer_allocate(&stream->encoder, operation, dt, address_of(place),
				      some_size(random));
	random->live[place] = true;
	if (again && !random_one_in(random, 4)) {
		random->late_address = address_of(place);
		random->late_not = number_of(random, stream);
	}
	random_finish_record(random, stream, from);
}

static void put_free(struct random_recording *random, struct random_stream *stream,
		     uint64_t address)
{
	uint64_t dt = since_last(random, stream);
	size_t from = stream->encoder.size;

	if (random_one_in(random, 3))
		random_change_stack(random, stream);
	trace_writer_free(&stream->encoder,
			  (uint8_t)(20 + draw(random, random_one_in(random, 5) ? 3 : 1)), dt,
			  address);
	random_finish_record(random, stream, from);
}

static void release(struct random_recording *random, struct random_stream *stream)
{
	bool wrong = random_one_in(random, 40); // a double free, or of what never was
	uint64_t place = some_place(random, !wrong);

	if (place == RANDOM_ADDRESSES)
		return;
	random->live[place] = false;
	put_free(random, stream, address_of(place) + (wrong && random_one_in(random, 3) ? 4 : 0));
}

static void reallocate(struct random_recording *random, struct random_stream *stream)
{
	uint64_t old = some_place(random, !random_one_in(random, 40)),
		 new = some_place(random, false);
	uint64_t dt = since_last(random, stream);
	size_t from = stream->encoder.size;

	if (old == RANDOM_ADDRESSES || new == RANDOM_ADDRESSES)
		return;
	if (random_one_in(random, 3))
		new = old;
	if (random_one_in(random, 2))
		random_change_stack(random, stream);
	trace_writer_realloc(&stream->encoder, (uint8_t)(18 + draw(random, 2)), dt,
			     draw(random, random_one_in(random, 5) ? 100000 : 60), address_of(old),
			     address_of(new), some_size(random));
	random->live[old] = false;
	random->live[new] = true;
	random_finish_record(random, stream, from);
}

/* The free of a block whose address was given out again. */
static void release_late(struct random_recording *random, struct random_stream *stream)
{
	uint64_t address = random->late_address;

	if (number_of(random, stream) == random->late_not)
		return;
	random->now += draw(random, ticks(random, random_one_in(random, 2) ? 13000 : 100));
	random->late_address = 0;
	put_free(random, stream, address);
}

static void begin_stream(struct random_recording *random, struct random_stream *stream)
{
	struct trace_writer *encoder = &stream->encoder;
	size_t from;

	stream->begun = true;
	stream->slot_size = 4096;
	open_chunk(random, stream);
	from = encoder->size;
	if (draw(random, 10)) {
		trace_writer_record(encoder, TRACE_RECORD_THREAD, "sut", INT64_C(0),
				    (uint64_t)number_of(random, stream) + 1000, "thread");
		random_finish_record(random, stream, from);
	}
	from = encoder->size;
	if (stream == random->streams) {
		trace_writer_record(encoder, TRACE_RECORD_PROCESS, "ut", UINT64_C(1), "/bin/toy");
		random_finish_record(random, stream, from);
	}
}

/* Time passes: mostly little, often none, now and then a lot. */
static void pass_time(struct random_recording *random)
{
	uint64_t kind = draw(random, 100);

	if (kind < 30)
		return;
	random->now += kind < 70   ? draw(random, 100)
		       : kind < 90 ? ticks(random, draw(random, 8000))
		       : kind < 98 ? ticks(random, draw(random, 1000000))
				   : ticks(random, draw(random, 60000000));
}

static void do_something(struct random_recording *random, struct random_stream *stream)
{
	uint64_t what = draw(random, 100);

	if (random->late_address && random_one_in(random, 2))
		release_late(random, stream);
	else if (what < 40)
		allocate(random, stream);
	else if (what < 72)
		release(random, stream);
	else if (what < 80)
		reallocate(random, stream);
	else if (what < 84)
		random_define_frame(random, stream);
	else if (what < 86)
		random_change_modules(random, stream);
	else if (what < 92 && random->pools)
		random_use_pool(random, stream);
	else
		random_tell(random, stream);
}

/* The program ends, or it is killed, also between the two things that tell how it ended. */
static void end(struct random_recording *random, struct random_stream *stream)
{
	size_t from = stream->encoder.size;
	struct random_item *item;

	trace_writer_end(&stream->encoder, random->now,
			 random_one_in(random, 4) ? 0 : monotonic_ns(random));
	random_finish_record(random, stream, from);
	if (random_one_in(random, 3))
		return;
	item = add_item(random, stream->visible + ticks(random, draw(random, 20000)), RANDOM_POKE);
	item->from = 76;
	item->value = 1;
	item->width = 4;
}

static void lose(struct random_recording *random)
{
	struct random_item *item = add_item(random, random->now, RANDOM_POKE);

	item->from = 128 + 8 * draw(random, 11);
	item->value = 1 + draw(random, 9);
	item->width = 8;
}

void random_events_make(struct random_recording *random)
{
	uint64_t events = 100 + draw(random, 1500),
		 ends = random_one_in(random, 2) ? events - draw(random, 90) : events;
	struct random_stream *stream = random->streams;

	for (uint64_t i = 0; i < events; i++) {
		if (draw(random, 4))
			stream = &random->streams[draw(random, random->stream_count)];
		if (!stream->begun && i && draw(random, 1 + events / 8) > i / 8)
			stream = random->streams;
		pass_time(random);
		if (!stream->begun)
			begin_stream(random, stream);
		do_something(random, stream);
		if (random_one_in(random, 1000))
			lose(random);
		if (i == ends)
			end(random, stream);
	}
}
