/* Copies the streams of a recording, without the events of blocks that go. */
#ifndef MALLOW_STRIP_STRIP_STREAM_H
#define MALLOW_STRIP_STRIP_STREAM_H

#include "analysis/load/stream_cursor.h"
#include "analysis/names/anonymous.h"
#include "hosted/vec.h"
#include "strip/strip_choice.h"
#include "write/record_stream.h"

/* What all streams are copied by. */
struct strip_copy {
	/* The caller's. */
	const struct byte_source *source;
	const struct chunk_index *index;
	struct trace_header header;  /* the recording's */
	struct strip_choice *choice; /* NULL: all events stay */
	const struct tick_clock *clock;
	enum anonymity anonymity;
	bool part; /* from the moment `from`, in ticks, on … */
	bool cut;  /* … and to the moment `until` */
	uint64_t from, until;
	uint64_t off_ns; /* recording was off at `from`: since when; UINT64_MAX: it was on */
	struct buf *out; /* where the chunks go */
	recording_progress *progress;
	void *argument;

	/* What was met. */
	struct damage damage;
	uint64_t stacks; /* the highest id of a stack record */
	uint64_t done;   /* bytes */

	/* The stream that is being written. */
	struct record_stream stream;
	struct buf chunks;               /* complete ones */
	VEC(struct record_frame) frames; /* of the stack as it stands */
	struct buf text;
};

void strip_copy_deinit(struct strip_copy *copy);

/* Begins a stream, and a chunk, with these readings of the clock. */
void strip_stream_begin(struct strip_copy *copy, uint32_t number, uint64_t ticks,
			uint64_t monotonic_ns);
/* Ends the chunk, and begins another one. */
struct err *strip_stream_next(struct strip_copy *copy, uint64_t ticks, uint64_t monotonic_ns);
/* Ends the chunk and the stream. */
struct err *strip_stream_end(struct strip_copy *copy);

/*
 * Copies the chunks first to end - 1 of the index, all of one stream, into the stream that has
 * begun. bits: which operations stay; NULL: all. only_names: nothing else than frames and modules.
 */
struct err *strip_stream_copy(struct strip_copy *copy, size_t first, size_t end,
			      const struct strip_bits *bits, bool only_names);

/* strip_record.c: copies a record of section 4.2, if it stays. stacked: it belongs to copy->frames.
 */
struct err *strip_record(struct strip_copy *copy, const struct decode_stream *decode,
			 const struct decode_event *event, bool stacked);
/* The same of what an unseen chunk has; the records are appended to ret. */
struct err *strip_unseen(struct strip_copy *copy, const uint8_t *data, size_t size,
			 struct buf *ret);

#endif
