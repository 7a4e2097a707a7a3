/* The records of one stream, chunk after chunk, as the decoder gives them. */
#ifndef MALLOW_ANALYSIS_STREAM_CURSOR_H
#define MALLOW_ANALYSIS_STREAM_CURSOR_H

#include "analysis/chunk_index.h"
#include "trace/decode.h"

struct stream_cursor {
	struct decode_stream decode;
	struct decode_event event; /* the record that stream_cursor_next() found */

	const struct byte_source *source;
	struct damage *damage;
	const struct indexed_chunk *chunks; /* of this stream */
	size_t count;
	size_t next;   /* chunk behind the one being read */
	bool open;     /* a chunk is being read */
	bool whole;    /* the chunk before `next` was read to its end */
	bool noted;    /* the chunk being read is known to be damaged */
	uint64_t done; /* committed bytes of chunks that were opened */

	uint8_t *buffer; /* a sealed chunk, read from the file */
	size_t capacity;
};

/* chunks: count >= 1 of one stream, borrowed like source and damage. */
void stream_cursor_init(struct stream_cursor *cursor, const struct byte_source *source,
			struct damage *damage, const struct indexed_chunk *chunks, size_t count);
void stream_cursor_deinit(struct stream_cursor *cursor);

/*
 * Goes on to the next record; *ret false: there is none. Damage is noted, and costs the rest of
 * its chunk. An error is the machine's: no memory, no disk.
 */
struct err *stream_cursor_next(struct stream_cursor *cursor, bool *ret);

#endif
