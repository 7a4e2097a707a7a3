/*
 * Loading, step by step. load.c reads the streams, load_ahead.c decodes the events of one in
 * small batches, load_merge.c takes them by time and pairs allocations with frees, load_record.c
 * takes in all other records, load_culled.c those of CULL before all events, load_pool.c those of
 * pools, load_watch.c writes down what few views ask for, load_facts.c the header, load_finish.c
 * makes what the views need from what was collected.
 */
#ifndef MALLOW_ANALYSIS_LOAD_LOAD_H
#define MALLOW_ANALYSIS_LOAD_LOAD_H

#include "analysis/chunks/chunk_index.h"
#include "analysis/live/live_snapshot.h"
#include "analysis/load/stream_cursor.h"
#include "analysis/load/tick_clock.h"
#include "analysis/recording_data.h"
#include "hosted/map.h"

/* Events that are decoded ahead: so long before its turn memory is asked for what one needs. */
#define LOAD_AHEAD 64

#define LOAD_NODE_LATER (UINT32_MAX - 1) /* a stack to be looked up when its event's turn comes */

/* An operation on a block, of a pool perhaps, and the innermost node of its stack if it is an
 * allocation. */
struct load_event {
	struct decode_event event;
	uint32_t node;
	uint32_t tag;
	uint32_t thread; /* whose it is: index of a recorded thread */
	uint32_t link;   /* of half a realloc, plus 1: in struct load_culled; 0: of a whole event */
	bool second;     /* … and it is the second half */
};

/*
 * A stream while it is read. Its index is that of its first thread; the threads that came after
 * that one in the same stream have indices behind those of all streams. Behind the last stream
 * stand the survivors of all of them, as one more.
 */
struct load_stream {
	struct stream_cursor cursor;
	uint32_t *nodes; /* of the stack trie, for the frames of the decoder's stack */
	size_t node_capacity;
	struct load_event *events; /* the current one and what was decoded ahead: LOAD_AHEAD */
	uint32_t next, count;      /* the current one, and how many there are */
	uint64_t replaced; /* by the realloc whose second half is due, BLOCK_NONE: unknown */
	uint64_t time;     /* when its current event happens: the key of the merge */
	uint32_t thread;   /* whose is what is decoded next */
	size_t next_start; /* of load_culled.starts, if there is one of this stream */
	uint32_t tag;      /* of what is decoded next */
	bool introduced;   /* a record said who the first thread is */
	bool second_half;  /* of a realloc: the allocation */
	bool frees;        /* what happens at `time` is a free */
};

/*
 * An allocation that was held back and then written: a survivor record. Of a realloc two, with a
 * link: other survivors come between its halves, as they are of all threads.
 */
struct load_survivor {
	uint64_t time;
	uint64_t stack; /* id */
	uint64_t address, size, alignment,
		slack;   /* of a first half: the old block's address alone */
	uint64_t stream; /* that it belongs to */
	uint32_t thread; /* once all streams are read; until then that which told of it */
	uint32_t tag;
	uint32_t link; /* as of struct load_event */
	bool second;
	uint8_t operation, heap_flags;
};

/* An amount of what was culled: a culled record. */
struct load_sums {
	uint64_t stack; /* id */
	uint64_t calls, bytes, temporary;
};

/* A thread that is not the first one of its stream. */
struct load_start {
	uint32_t stream; /* index */
	uint32_t thread;
	uint64_t time;
};

/* What CULL added to a recording. Zero: nothing. */
struct load_culled {
	struct map stacks;                   /* id to depth << 32 and innermost node */
	VEC(struct load_survivor) survivors; /* by time */
	VEC(struct load_sums) sums;
	VEC(struct load_start) starts; /* by stream and time */
	VEC(uint64_t) links; /* the blocks that first halves have ended, BLOCK_NONE: unknown */
	size_t next;         /* survivor */
};

struct load {
	struct recording *recording;
	struct trace_header header;
	const struct byte_source *source;
	struct damage damage;
	struct chunk_index index;
	struct load_stream *streams;
	uint32_t stream_count;
	struct load_culled culled;
	struct live_snapshot live; /* with TRACE_LIVE */
	uint32_t *heap;            /* indices of streams, the earliest event first */
	uint32_t heap_count;
	struct tick_clock clock;
	uint64_t now;        /* when the event being taken happens; never goes back */
	uint64_t last_ticks; /* the latest time met */
	bool free_stacks;    /* frees have stacks: TRACE_FREE_STACKS */
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

/* load_ahead.c: decodes the stream's next events. *ret false: it is at its end. */
struct err *load_ahead(struct load *load, uint32_t stream, bool *ret);

/* load_culled.c: reads the records of all streams that are there for CULL alone. */
struct err *load_culled_read(struct load *load);
/* The same as load_ahead() of the survivors, all of whose threads are told of. */
struct err *load_culled_ahead(struct load *load, struct load_stream *stream, bool *ret);
/* When all events were taken: adds to the sites what was culled of them. */
struct err *load_culled_add(struct load *load);
void load_culled_deinit(struct load_culled *culled);

/* load_merge.c: all events of all streams. */
struct err *load_merge(struct load *load);

/*
 * load_watch.c: what is noted of each free and allocation where recording->watched, after it was
 * taken. block: the one that was freed, BLOCK_NONE: not known.
 */
struct err *load_watch_free(struct load *load, uint32_t index, const struct load_event *event,
			    uint64_t address, uint64_t block);
struct err *load_watch_allocation(struct load *load, uint32_t thread);

/*
 * load_pool.c: a record of the program's own pools, when it is decoded (its text must not stay
 * where it is), and when its turn has come.
 */
struct err *load_pool_ahead(struct load *load, struct decode_event *event);
struct err *load_pool(struct load *load, uint32_t index, const struct load_event *event);

/* load_record.c: a record of the stream which is not an operation on a block. */
struct err *load_record(struct load *load, uint32_t stream, const struct decode_event *event);
/* Finds the nodes of frames that the stream's stack has newly got. */
struct err *load_stack_slow(struct load *load, struct load_stream *stream, uint64_t ticks);

/* The innermost node of the stream's stack as it stands, RECORDING_NONE: empty. */
static inline struct err *load_stack(struct load *load, struct load_stream *stream, uint64_t ticks,
				     uint32_t *ret)
{
	const struct decode_stream *decode = &stream->cursor.decode;

	if (decode->kept < decode->depth) {
		struct err *err = load_stack_slow(load, stream, ticks);

		if (err)
			return err;
	}
	*ret = decode->depth ? stream->nodes[decode->depth - 1] : RECORDING_NONE;
	return NULL;
}

/* A row for a thread that is not the first one of its stream. */
struct err *load_add_thread(struct load *load, uint32_t stream, uint32_t *ret);

static inline void load_note_time(struct load *load, uint32_t index, uint64_t ticks)
{
	struct recorded_thread *thread = &load->recording->threads.items[index];

	if (ticks < thread->first_ns)
		thread->first_ns = ticks;
	if (ticks > load->last_ticks)
		load->last_ticks = ticks;
}

/* load_finish.c: everything has been read. */
struct err *load_finish(struct load *load);
/* The facts that the chunks tell. */
void load_chunk_facts(struct load *load);

#endif
