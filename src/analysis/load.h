/*
 * Loading, step by step. load.c merges the streams by time and pairs allocations with frees,
 * load_record.c takes in all other records, load_facts.c the header, load_finish.c makes what
 * the views need from what was collected.
 */
#ifndef MALLOW_ANALYSIS_LOAD_H
#define MALLOW_ANALYSIS_LOAD_H

#include "analysis/chunk_index.h"
#include "analysis/recording_data.h"
#include "analysis/stream_cursor.h"
#include "analysis/tick_clock.h"

/* A stream while it is read. Its index is that of its thread. */
struct load_stream {
	struct stream_cursor cursor;
	uint32_t *nodes; /* of the stack trie, for the frames of the decoder's stack */
	size_t node_capacity;
	uint64_t replaced; /* by the realloc whose second half is due, BLOCK_NONE: unknown */
	uint64_t time;     /* when its current event happens: the key of the merge */
	bool second_half;  /* of a realloc: the allocation */
	bool frees;        /* what happens at `time` is a free */
};

struct load {
	struct recording *recording;
	struct trace_header header;
	const struct byte_source *source;
	struct damage damage;
	struct chunk_index index;
	struct load_stream *streams;
	uint32_t stream_count;
	uint32_t *heap; /* indices of streams, the earliest event first */
	uint32_t heap_count;
	struct tick_clock clock;
	uint64_t now;        /* when the event being taken happens; never goes back */
	uint64_t last_ticks; /* the latest time met */
	bool end_seen;
	uint64_t end_ticks, end_monotonic_ns;
	recording_progress *progress;
	void *argument;
	uint64_t done; /* bytes, as progress tells them */
};

/* load_facts.c: reads and checks the header; the facts that it holds. */
struct err *load_header(struct load *load);
/* Whether the writer with that pid and start time is alive on this machine. */
bool load_writer_alive(uint32_t pid, uint64_t start_time);

/* load_record.c: the stream's current record, which is not an operation on a block. */
struct err *load_record(struct load *load, uint32_t stream);
/* The innermost node of the stream's stack as it stands, RECORDING_NONE: empty. */
struct err *load_stack(struct load *load, struct load_stream *stream, uint64_t ticks,
		       uint32_t *ret);
void load_note_time(struct load *load, uint32_t stream, uint64_t ticks);

/* load_finish.c: everything has been read. */
struct err *load_finish(struct load *load);

#endif
