/*
 * Makes a large recording, as a program with several threads would leave it: for measuring how such
 * a one is read, where recording a real program would take longer than the measurement.
 *
 *	make_recording FILE ALLOCATIONS [STACKS [THREADS [SEED]]]
 *
 * Equal arguments make equal files. Blocks live for a few events up to a quarter of a million, one
 * in a hundred is never freed; one in ten is freed by another thread than its own; one in twenty
 * ends in a realloc. Stacks differ mostly in their innermost frames from the one before. The last
 * free is wrong, so that `mallow report --errors` needs all blocks.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "write/record_stream.h"

#define BRANCHES     12 /* of each level of the tree of stacks … */
#define LEVELS       4  /* … so that there may be BRANCHES to the power of this: 20736 */
#define COMMON       5  /* frames that are in each stack */
#define FRAMES       (COMMON + 2 * LEVELS)
#define TICKS_PER_NS 3
#define START_TICKS  1000000
#define START_NS     5000000
#define LIVES        (1u << 18) /* the longest life, in events */
#define CLASSES      64
#define THREADS_MAX  64

struct stream {
	struct record_stream records;
	uint32_t stack; /* the number of its stack */
};

struct block {
	uint64_t address;
	uint32_t size;
	uint32_t thread;
	uint32_t next; /* in the list that it is in, index + 1 */
};

static FILE *file;
static struct buf chunks = {.fd = -1};
static struct stream streams[THREADS_MAX];
static uint32_t stream_count, stack_count;
static uint64_t now = START_TICKS, random_state;
static struct block *blocks;
static uint32_t block_count, block_capacity, free_block;
static uint32_t dying[LIVES]; /* heads of lists: who dies when */
static struct {
	uint64_t *items;
	size_t count, capacity;
} reusable[CLASSES]; /* addresses by size */
static uint64_t top = 0x550000000000;

static uint64_t draw(uint64_t below)
{
	return random_next(&random_state) % below;
}

static void write_all(const void *data, size_t size)
{
	if (fwrite(data, 1, size, file) != size)
		err(1, "cannot write");
}

static void open_chunk(struct stream *stream)
{
	record_stream_begin(&stream->records, now, START_NS + (now - START_TICKS) / TICKS_PER_NS);
}

static void seal_chunk(struct stream *stream)
{
	record_stream_seal(&stream->records);
	if (chunks.failure)
		errx(1, "memory");
	write_all(chunks.data, chunks.size);
	chunks.size = 0;
}

static void make_room(struct stream *stream)
{
	if (!record_stream_is_full(&stream->records, FRAMES))
		return;
	seal_chunk(stream);
	open_chunk(stream);
}

static void put_record(struct stream *stream, uint8_t kind, const uint64_t *fields, size_t count,
		       const char *text)
{
	make_room(stream);
	record_stream_fact(&stream->records, kind, fields, count, text, strlen(text));
}

/* The frames of a stack: those of all, then two for each level, by its digits. */
static void frames_of(uint32_t stack, struct record_frame *frames)
{
	uint32_t id = 1;

	for (int i = 0; i < COMMON; i++)
		*frames++ = (struct record_frame){.id = id++};
	for (uint32_t level = 0, unit = BRANCHES * BRANCHES * BRANCHES; level < LEVELS;
	     level++, unit /= BRANCHES) {
		uint32_t digit = stack / unit % BRANCHES;

		*frames++ = (struct record_frame){.id = id + 2 * digit};
		*frames++ = (struct record_frame){.id = id + 2 * digit + 1};
		id += 2 * BRANCHES;
	}
}

static void define_frames(struct stream *stream)
{
	const uint64_t module[] = {0, 1, 0, 0x400000, 0x400000, 0x500000, 0};

	const uint64_t executable[] = {TRACE_PROCESS_EXECUTABLE};

	put_record(stream, TRACE_RECORD_PROCESS, executable, 1, "/usr/bin/made");
	put_record(stream, TRACE_RECORD_MODULE, module, 7, "/usr/bin/made");
	for (uint32_t id = 1; id <= COMMON + LEVELS * 2 * BRANCHES; id++) {
		const uint64_t frame[] = {id, 0x400100 + id * 64, 1};

		put_record(stream, TRACE_RECORD_FRAME, frame, 3, "");
	}
}

/* The next stack of a stream: mostly the same one, or near it. */
static void choose_stack(struct stream *stream)
{
	uint64_t kind = draw(100);

	if (kind < 60)
		return;
	if (kind < 90)
		stream->stack += (uint32_t)draw(BRANCHES) - stream->stack % BRANCHES;
	else
		stream->stack = (uint32_t)draw(stack_count);
	if (stream->stack >= stack_count)
		stream->stack = stack_count - 1;
}

static uint32_t class_of(uint32_t size)
{
	uint32_t rounded = (size + 8 + 15) / 16;

	return rounded < 48 ? rounded : 48 + 32 - (uint32_t)__builtin_clz(rounded) - 6;
}

static uint64_t place_for(uint32_t size)
{
	uint32_t class = class_of(size);
	uint64_t address = top;

	if (reusable[class].count)
		return reusable[class].items[--reusable[class].count];
	top += class < 48 ? class * 16 : 16ull << (class - 48 + 6);
	return address;
}

static void give_back(uint64_t address, uint32_t size)
{
	uint32_t class = class_of(size);

	if (reusable[class].count == reusable[class].capacity) {
		size_t capacity = reusable[class].capacity ? reusable[class].capacity * 2 : 1024;

		reusable[class].items = realloc(reusable[class].items, capacity * 8);
		if (!reusable[class].items)
			err(1, "memory");
		reusable[class].capacity = capacity;
	}
	reusable[class].items[reusable[class].count++] = address;
}

/* Notes when the new block ends, unless it never does. */
static void note_block(uint64_t event, uint64_t address, uint32_t size, uint32_t thread)
{
	uint64_t kind = draw(100), life;
	uint32_t index = free_block;

	if (kind == 0)
		return;
	life = 1 + (kind < 60 ? draw(16) : kind < 90 ? draw(1000) : draw(LIVES - 2));
	if (index) {
		free_block = blocks[index - 1].next;
	} else {
		if (block_count == block_capacity) {
			block_capacity = block_capacity ? block_capacity * 2 : 4096;
			blocks = realloc(blocks, block_capacity * sizeof(*blocks));
			if (!blocks)
				err(1, "memory");
		}
		index = ++block_count;
	}
	blocks[index - 1] = (struct block){address, size, thread, dying[(event + life) % LIVES]};
	dying[(event + life) % LIVES] = index;
}

static uint32_t draw_size(void)
{
	uint64_t kind = draw(100);

	return (uint32_t)(kind < 80 ? 1 + draw(200) : kind < 99 ? draw(8000) : draw(400000));
}

static void allocate(uint64_t number, const struct block *old, uint32_t thread)
{
	struct stream *stream = &streams[thread];
	uint32_t size = old ? old->size + old->size / 2 + 1 : draw_size();
	bool slack = draw(50) == 0;
	struct record_frame frames[FRAMES];
	struct trace_event event = {
		.address = place_for(size),
		.size = size,
		.slack = trace_glibc_usable(size) - size,
		.operation = old       ? TRACE_OP_REALLOC
			     : draw(3) ? TRACE_OP_MALLOC
				       : TRACE_OP_CALLOC,
	};

	make_room(stream);
	choose_stack(stream);
	frames_of(stream->stack, frames);
	event.ticks = now;
	if (old) {
		event.duration = draw(50);
		event.old_address = old->address;
		now += event.duration;
	}
	if (slack)
		event.slack = 8 + draw(64);
	record_stream_event(&stream->records, &event, frames, FRAMES);
	note_block(number, event.address, size, thread);
}

static void release(uint64_t address, uint32_t thread)
{
	struct stream *stream = &streams[thread];
	const struct trace_event event = {
		.operation = TRACE_OP_FREE, .ticks = now, .address = address};

	make_room(stream);
	record_stream_event(&stream->records, &event, NULL, 0);
}

/* Ends those that are due. Returns how many of them became a new block by realloc. */
static uint64_t end_blocks(uint64_t event)
{
	uint64_t grown = 0;
	uint32_t index = dying[event % LIVES];

	dying[event % LIVES] = 0;
	while (index) {
		struct block block = blocks[index - 1];
		uint32_t thread = draw(10) ? block.thread : (uint32_t)draw(stream_count);

		blocks[index - 1].next = free_block;
		free_block = index;
		index = block.next;
		now += 20 + draw(300);
		if (draw(20) == 0 && block.size < 1000000) {
			allocate(event, &block, thread);
			grown++;
		} else {
			release(block.address, thread);
		}
		give_back(block.address, block.size);
	}
	return grown;
}

static void put_header(uint64_t seed)
{
	uint8_t page[TRACE_PAGE] = {0};
	struct trace_header header = {
		.magic = TRACE_MAGIC,
		.version_major = TRACE_VERSION_MAJOR,
		.version_minor = TRACE_VERSION_MINOR,
		.header_size = TRACE_PAGE,
		.pid = 1,
		.machine = 62,
		.pointer_size = 8,
		.clock = TRACE_CLOCK_TSC,
		.allocator = TRACE_ALLOCATOR_GLIBC,
		.state = TRACE_STATE_ENDED,
		.start_ticks = START_TICKS,
		.start_monotonic_ns = START_NS,
		.start_realtime_ns = 1700000000000000000,
		.end_reason = TRACE_END_EXIT,
	};

	memcpy(header.id, &seed, sizeof(seed));
	memcpy(page, &header, sizeof(header));
	write_all(page, sizeof(page));
}

static void begin_streams(void)
{
	for (uint32_t i = 0; i < stream_count; i++) {
		const uint64_t thread[] = {0, 100 + i};

		record_stream_init(&streams[i].records, &chunks, i, TRACE_ALLOCATOR_GLIBC);
		open_chunk(&streams[i]);
		put_record(&streams[i], TRACE_RECORD_THREAD, thread, 2, i ? "worker" : "main");
	}
	define_frames(&streams[0]);
	// Defined before they are used, in the file, too.
	seal_chunk(&streams[0]);
	open_chunk(&streams[0]);
}

static void end_streams(void)
{
	release(8, 0);
	make_room(&streams[0]);

	const uint64_t end[] = {zigzag((int64_t)(now - streams[0].records.header.base_ticks)),
				START_NS + (now - START_TICKS) / TICKS_PER_NS, TRACE_END_EXIT, 0};

	put_record(&streams[0], TRACE_RECORD_END, end, 4, "");
	for (uint32_t i = 0; i < stream_count; i++)
		seal_chunk(&streams[i]);
}

static uint64_t number(char **arguments, int index, int count, uint64_t otherwise, uint64_t most)
{
	uint64_t value = index < count ? strtoull(arguments[index], NULL, 10) : otherwise;

	if (!value || value > most)
		errx(2, "usage: make_recording FILE ALLOCATIONS [STACKS [THREADS [SEED]]]");
	return value;
}

int main(int count, char **arguments)
{
	uint64_t allocations = number(arguments, 2, count, 0, UINT64_MAX), made = 0;
	uint32_t thread = 0;

	stack_count = (uint32_t)number(arguments, 3, count, 20000,
				       BRANCHES * BRANCHES * BRANCHES * BRANCHES);
	stream_count = (uint32_t)number(arguments, 4, count, 4, THREADS_MAX);
	random_state = number(arguments, 5, count, 1, UINT64_MAX);
	file = fopen(arguments[1], "we");
	if (!file)
		err(1, "%s", arguments[1]);
	put_header(random_state);
	begin_streams();
	for (uint64_t event = 0; made < allocations; event++) {
		made += end_blocks(event);
		now += 20 + draw(300);
		// A thread runs for a while.
		if (draw(40) == 0)
			thread = (uint32_t)draw(stream_count);
		allocate(event, NULL, thread);
		made++;
	}
	end_streams();
	if (fclose(file))
		err(1, "%s", arguments[1]);
	return 0;
}
