/*
 * Loading, step by step:
 *
 *	load.c          the order of the steps: an index, or the events
 *	load_streams.c  the streams, and what came to them since the last reading
 *	load_facts.c    the header
 *	load_writer.c   whether the process lives
 *	load_culled.c   records of CULL, before all events
 *	load_aggregate.c  the sums that an aggregate has instead of events
 *	load_ahead.c    decodes the events of a stream in small batches
 *	load_record.c   records that are no operations on blocks
 *	load_threads.c  the order of threads
 *	load_merge.c    takes the events of all streams in order of time, pairs frees and blocks
 *	load_pool.c     records of the program's own pools
 *	load_watch.c    notes what only few views ask for
 *	load_walk.c     tells a caller of each operation on a block
 *	load_finish.c   makes what views need from what was collected
 *	load_look.c     the same, while more is still to be collected
 */
#ifndef MALLOW_ANALYSIS_LOAD_LOAD_H
#define MALLOW_ANALYSIS_LOAD_LOAD_H

#include "analysis/aggregate/aggregate.h"
#include "analysis/blocks/block_times.h"
#include "analysis/chunks/chunk_index.h"
#include "analysis/live/live_snapshot.h"
#include "analysis/load/load_walk.h"
#include "analysis/load/stream_cursor.h"
#include "analysis/load/tick_clock.h"
#include "analysis/recording_data.h"
#include "hosted/map.h"

/*
 * How many events of a stream are decoded ahead. When an event is decoded, the memory that it will
 * need at its turn is prefetched.
 */
#define LOAD_AHEAD 64

#define LOAD_NODE_LATER (UINT32_MAX - 1) /* the stack is looked up at the event's turn */

/*
 * An operation on a block, or on a block of a pool. node: the innermost of its stack;
 * RECORDING_NONE: it has none.
 */
struct load_event {
	struct decode_event event;
	uint32_t node;
	uint32_t tag;
	uint32_t thread; /* index of the recorded thread that did it */
	uint32_t link;   /* half of a survivor's realloc: index in load_culled.links + 1; or 0 */
	bool second;     /* it is the second half of such a realloc */
};

/*
 * A stream that is being read. Behind the last stream comes one more, with the survivors of all
 * streams. Until load_threads_finish(), a thread's index is that in which threads were met: first
 * the first thread of each stream.
 */
struct load_stream {
	struct stream_cursor cursor;
	uint64_t number;  /* in the file; of the survivors more than any */
	bool has_current; /* there is a current event */
	uint32_t *nodes;  /* nodes of the stack trie, one for each frame of the decoder's stack */
	size_t node_capacity;
	struct load_event *events;  /* the current one, and those decoded ahead: LOAD_AHEAD */
	uint32_t next, count;       /* index of the current one; how many there are */
	struct live_block replaced; /* its realloc has a second half to come; number 0: unknown */
	uint64_t time;              /* when the current event happens: the key of the merge */
	uint32_t thread;            /* the thread of what is decoded next */
	size_t next_start;          /* index in load_culled.starts of this stream's first */
	uint32_t tag;               /* the tag of what is decoded next */
	bool introduced;            /* a record named the first thread */
	bool second_half;           /* the current event is a realloc, and its allocation is due */
	bool frees;                 /* what is due at `time` is a free */
};

/*
 * An allocation that was held back and then written: a survivor record. A realloc becomes two, with
 * the same link, because survivors of other threads may come between its halves.
 */
struct load_survivor {
	uint64_t time;
	uint64_t stack; /* id */
	/* Of a first half: only address, the old block's. */
	uint64_t address, size, alignment, slack;
	uint64_t stream; /* the stream that it belongs to */
	uint32_t thread; /* until all streams are read: the thread that wrote the record */
	uint32_t tag;
	uint32_t link; /* as in struct load_event */
	bool second;
	uint8_t operation, heap_flags;
};

/* What was culled of one stack: a culled record. */
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

/* What CULL added to a recording. Zeroed: nothing. */
struct load_culled {
	struct map stacks;                   /* from id to depth << 32 | innermost node */
	VEC(struct load_survivor) survivors; /* by time */
	VEC(struct load_sums) sums;
	VEC(struct load_start) starts; /* by stream and time */
	VEC(struct live_block) links;  /* first halves of reallocs ended them; number 0: unknown */
	size_t next;                   /* survivor to come */
};

/* A sum record of an aggregate. */
struct load_sum {
	uint64_t time;
	uint64_t stack;  /* id; 0: of all stacks together */
	uint64_t number; /* in the order in which they were read */
	uint64_t values[TRACE_SUMS];
};

struct load {
	struct recording *recording;
	struct trace_header header;
	struct trace_attacher writer; /* of an attached recording */
	const struct byte_source *source;
	uint64_t modified; /* when the file was modified, taken before it was read */
	struct damage damage;
	struct damage index_damage; /* the part of it that was met when the index was made */
	struct chunk_index index;
	struct load_stream *streams;
	uint32_t stream_count;
	struct load_culled culled;
	struct live_snapshot live; /* with TRACE_LIVE */
	VEC(struct load_sum) sums; /* with TRACE_AGGREGATE … */
	uint32_t sums_known;       /* … and what they have: bits of enum trace_sum */
	uint32_t *heap;            /* a heap of streams' indices, the earliest event first */
	uint32_t heap_count;
	VEC(uint32_t) thread_numbers; /* of each thread; RECORDING_NONE: it did nothing so far */
	VEC(uint32_t) thread_order;   /* the reverse, by number */
	uint64_t taken_before;        /* all events before these ticks are taken */
	bool late;                    /* a stream has a new event that should be among these */
	struct load_walk *walk;       /* who is told of operations; NULL: nobody */
	struct tick_clock clock;
	uint64_t now;              /* the time of the event being taken; never goes back */
	uint64_t last_ticks;       /* the latest time so far */
	bool facts_wanted;         /* run facts … */
	bool curve_wanted;         /* … and the curve */
	bool free_stacks;          /* frees have stacks: TRACE_FREE_STACKS */
	uint32_t expected_streams; /* an ended recording has so many at least */
	bool end_seen;
	bool end_watched; /* the end record of `mallow run` was read */
	uint64_t end_ticks, end_monotonic_ns;
	enum trace_end end_reason; /* as the end record says */
	uint32_t end_status;
	recording_progress *progress;
	void *argument;
	uint64_t done; /* bytes, for progress */
};

/*
 * load.c: the steps of load_recording(), for a recording that is read bit by bit (growing.h).
 * load_begin(): load has recording and source; reads the header and the index. Then
 * load_open_streams(), load_merge() as often as the recording has grown, and load_end(), which
 * makes of all that was taken what views need. load_deinit() frees all but the recording.
 */
struct err *load_begin(struct load *load, unsigned int needs);
struct err *load_open_streams(struct load *load);
struct err *load_end(struct load *load);
/* The three in a row, for a recording that is read at once. */
struct err *load_events(struct load *load);
void load_deinit(struct load *load);
/* Tells the recording which state of the file it is of. */
void load_note_file(struct load *load);
/*
 * Takes the clock from the index, after that was made or renewed. false: by this clock, some event
 * would have been taken otherwise.
 */
bool load_set_clock(struct load *load);

/* load_facts.c: reads and checks the header, and takes its facts. */
struct err *load_header(struct load *load);
/*
 * Reads the header again, and takes the facts that change while the file is written. *ret false: it
 * has become another recording, or a finished one.
 */
struct err *load_header_again(struct load *load, bool *ret);
/* Takes the facts of the end record. The header's go before. */
void load_note_end(struct load *load);
/* load_writer.c: whether the process with that pid and start time lives on this machine. */
bool load_writer_alive(uint32_t pid, uint64_t start_time);

/* load_ahead.c: decodes the stream's next events. *ret false: it is at its end. */
struct err *load_ahead(struct load *load, uint32_t stream, bool *ret);

/* load_culled.c: reads the records of CULL from all streams. */
struct err *load_culled_read(struct load *load);
/* As load_ahead(), for the stream of survivors. The threads of all streams must be known. */
struct err *load_culled_ahead(struct load *load, struct load_stream *stream, bool *ret);
/* Adds to the sites what was culled of them, after all events were taken. */
struct err *load_culled_add(struct load *load);
/* The stack of a stack record: its innermost node, and how many frames it has. */
struct err *load_culled_node(struct load *load, uint64_t id, uint32_t *depth, uint32_t *ret);
void load_culled_deinit(struct load_culled *culled);

/*
 * load_aggregate.c: takes the records of an aggregate; makes its sites of them, after all were
 * taken; and, when sums are made, its facts.
 */
struct err *load_aggregate_take(struct load *load, const struct decode_event *event);
struct err *load_aggregate_add(struct load *load);
void load_aggregate_finish(struct load *load);

/*
 * load_merge.c: takes the events of all streams up to these ticks. If the streams have grown since
 * the last call, and one of them has a new event from before its end, load->late is set and nothing
 * is taken: then the recording must be read from its start.
 */
struct err *load_merge(struct load *load, uint64_t until);

/* load_streams.c: makes a stream, and its first thread, for each stream number in the index. */
struct err *load_streams_make(struct load *load);
/*
 * Reads the index again, and lets each stream go on in its new chunks. *ret false: that is not
 * possible, because the old part of the file has changed, or something of it is missing.
 */
struct err *load_streams_grow(struct load *load, bool *ret);
void load_streams_end(struct load *load);

/*
 * load_threads.c: threads are numbered in the order of their first operation on a block. So the
 * number does not depend on how much of the recording is read at a time.
 */
struct err *load_thread_add(struct load *load, uint64_t stream, uint32_t *ret);
/* Numbers the threads that did nothing, and puts all in this order, in the recording's lists, too.
 */
struct err *load_threads_finish(struct load *load);

/* The number of a thread that operates on a block now. */
static inline uint32_t load_thread_number(struct load *load, uint32_t thread)
{
	uint32_t *number = &load->thread_numbers.items[thread];

	if (unlikely(*number == RECORDING_NONE)) {
		*number = (uint32_t)load->thread_order.count;
		// load_thread_add() has made room.
		load->thread_order.items[load->thread_order.count++] = thread;
	}
	return *number;
}

/*
 * load_watch.c: takes note of each operation on a block, after it was taken, if
 * recording->blocks->watched.
 */
struct err *load_watch_operation(struct load *load);
/*
 * Takes note of a free that may be an error. index: the stream. thread: its number. block: the one
 * that was freed; NULL: not known.
 */
struct err *load_watch_suspect(struct load *load, uint32_t index, uint32_t thread,
			       struct load_event *event, uint64_t address,
			       const struct live_block *block);

/*
 * load_walk.c, with load->walk: the merge begins; it took an allocation, or a free; all was taken,
 * and frames have their numbers. implicit_frees: how many there were before the operation.
 */
struct err *load_walk_begin(struct load *load);
struct err *load_walk_allocated(struct load *load, uint32_t index, uint64_t implicit_frees);
struct err *load_walk_freed(struct load *load, uint32_t index, const struct live_block *block,
			    uint64_t implicit_frees);
struct err *load_walk_end(struct load *load);

/*
 * load_pool.c: a record of the program's own pools: when it is decoded (its text is copied), and
 * when its turn has come.
 */
struct err *load_pool_ahead(struct load *load, struct decode_event *event);
struct err *load_pool(struct load *load, uint32_t index, uint32_t thread, struct load_event *event);

/* load_record.c: takes a record that is no operation on a block. */
struct err *load_record(struct load *load, uint32_t stream, const struct decode_event *event);
/* Finds or adds the nodes of the frames that the stream's stack has got since the last call. */
struct err *load_stack_slow(struct load *load, struct load_stream *stream, uint64_t ticks);

/* *ret: the innermost node of the stream's present stack; RECORDING_NONE: it is empty. */
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

/* Looks up the stack of an event whose turn it is, if that had to wait. */
static inline struct err *load_event_stack(struct load *load, uint32_t stream,
					   struct load_event *event)
{
	if (likely(event->node != LOAD_NODE_LATER))
		return NULL;
	return load_stack(load, &load->streams[stream], event->event.time, &event->node);
}

static inline void load_note_time(struct load *load, uint32_t index, uint64_t ticks)
{
	struct recorded_thread *thread = &load->recording->tables->threads.items[index];

	if (ticks < thread->first_ns)
		thread->first_ns = ticks;
	if (ticks > load->last_ticks)
		load->last_ticks = ticks;
}

/* load_finish.c: to be called when everything has been read. */
struct err *load_finish(struct load *load);
/*
 * Steps of it: takes the last readings of the clock; orders lists and gives them times in
 * nanoseconds; makes the sums and their facts.
 */
void load_last_clock(struct load *load);
struct err *load_finish_lists(struct load *load);
void load_finish_sums(struct load *load);
/* Sets the facts that the chunks tell. */
void load_chunk_facts(struct load *load);
/*
 * Gives the recording, which has all lists already, the run facts of what was taken, if they are
 * wanted.
 */
struct err *load_make_facts(const struct load *load, struct recording *recording);

/*
 * load_look.c: *ret: a recording of what was taken so far, which load_finish() would give; loading
 * can go on. The caller owns it, and closes it before anything more is taken: it shares stacks and
 * blocks with the one that is loaded. Times of blocks are kept in `times` from one look to the
 * next. NULL: there can be no such look, because what is known so far may have to be read
 * otherwise.
 */
extern uint64_t load_look_tolerance_ns; /* times may be so much off; tests lower it */
struct err *load_look(struct load *load, struct block_times *times, struct recording **ret);

#endif
