/*
 * A random recording, and its file as it is at each moment of its life: 1 to 8 streams with every
 * record of docs/trace-format.md, section 4, in slots that fill and are sealed. Streams lag: an
 * event comes to the file some time after it happened, now and then more than 100 ms. By seed: the
 * same one gives the same recording.
 *
 *	random_recording_init(&random, seed);
 *	while (random_recording_go_on(&random, items))
 *		…;                      // random.file is the file as it is now
 *	random_recording_deinit(&random);
 *
 * No memory: the test aborts.
 */
#ifndef MALLOW_TESTS_RANDOM_RECORDING_H
#define MALLOW_TESTS_RANDOM_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace_writer.h"

/* When it starts: ticks, and CLOCK_MONOTONIC. */
#define RANDOM_START    UINT64_C(1000000)
#define RANDOM_START_NS UINT64_C(5000000)

#define RANDOM_STREAMS   8
#define RANDOM_ADDRESSES 96
#define RANDOM_REGIONS   5 /* places where modules are loaded */
#define RANDOM_POOLS     3

enum random_item_kind {
	RANDOM_OPEN_WORD,   /* a slot goes on: its commit word, before the other fields */
	RANDOM_OPEN,        /* a chunk begins, in the slot or in a new one */
	RANDOM_COMMIT,      /* a record */
	RANDOM_APPEND_PART, /* the sealed copy of a slot is being written … */
	RANDOM_APPEND,      /* … and is whole */
	RANDOM_SEAL,        /* a slot becomes a sealed chunk where it is */
	RANDOM_HOLE,        /* space was reserved and not used */
	RANDOM_POKE,        /* a field of the header changes */
};

/* What the agent does to the file at a time. */
struct random_item {
	uint64_t visible; /* ticks */
	size_t number;    /* order among equal times */
	enum random_item_kind kind;
	uint32_t stream;
	size_t from, to; /* bytes of the stream's encoder; of a poke the offset */
	uint64_t value;  /* of a poke; of an opening the size of a new slot */
	uint32_t width;
};

struct random_stream {
	struct trace_writer encoder; /* all its chunks, without padding and trailers */
	uint32_t sequence;
	uint64_t visible;
	uint32_t depth; /* of its stack */
	size_t limit;   /* bytes of payload at which the chunk is full */
	uint64_t slot_size;
	bool begun;

	/* In the file: */
	size_t slot, part;
	bool has_slot;
	uint32_t slot_committed, slot_sequence;
};

struct random_recording {
	uint8_t *file;
	size_t size;

	uint64_t random; /* state of the generator */
	uint64_t now;    /* ticks */
	double rate;     /* ticks in a nanosecond */
	uint32_t stream_count;
	bool pools, free_stacks, very_late;
	bool uneven; /* the clock of ticks does not go evenly at all */
	struct random_stream streams[RANDOM_STREAMS];
	struct random_item *items;
	size_t item_count, item_capacity, next_item;

	bool live[RANDOM_ADDRESSES];
	uint64_t frames;                 /* defined so far: ids from 1 */
	uint64_t modules;                /* the same */
	uint64_t loaded[RANDOM_REGIONS]; /* id of the module that is there, 0: none */
	uint64_t late_address;           /* is yet to be freed, too late; 0: none */
	uint32_t late_not;               /* not by this stream */
	bool off;
};

void random_recording_init(struct random_recording *random, uint64_t seed);
void random_recording_deinit(struct random_recording *random);

/* Lets the agent do so many steps more. false: it is through. */
bool random_recording_go_on(struct random_recording *random, size_t items);

/* A number below `below`, for whoever tests with this recording. */
uint64_t random_recording_draw(struct random_recording *random, uint64_t below);

#endif
