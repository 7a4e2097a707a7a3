/* Reads the records of one stream, chunk after chunk, by the decoder. */
#ifndef MALLOW_ANALYSIS_LOAD_STREAM_CURSOR_H
#define MALLOW_ANALYSIS_LOAD_STREAM_CURSOR_H

#include "analysis/chunks/chunk_index.h"
#include "base/compiler.h"
#include "trace/decode.h"

struct stream_cursor {
	struct decode_stream decode;
	struct decode_event event; /* the record that stream_cursor_next() found */

	const struct byte_source *source;
	struct damage *damage;
	const struct indexed_chunk *chunks; /* of this stream */
	const struct packed_chunk *packs;   /* all of the index */
	size_t count;
	size_t next;   /* index of the chunk after the one being read */
	bool open;     /* a chunk is being read */
	bool whole;    /* the chunk before `next` was read to its end */
	bool noted;    /* the chunk being read is known to be damaged */
	uint64_t done; /* committed bytes of chunks that were opened */

	uint8_t *buffer; /* a sealed chunk from the file, or the content of a packed one */
	size_t capacity;
	uint32_t pack;    /* whose content is in the buffer; CHUNK_UNPACKED: none */
	size_t pack_size; /* how much of that content could be decompressed */
};

/*
 * For the chunks first to end - 1 of the index: at least one, all of one stream. All arguments are
 * borrowed.
 */
void stream_cursor_init(struct stream_cursor *cursor, const struct byte_source *source,
			struct damage *damage, const struct chunk_index *index, size_t first,
			size_t end);
void stream_cursor_deinit(struct stream_cursor *cursor);

/*
 * Lets the cursor go on in a later index of the same file, in which the stream's chunks are first
 * to end - 1. Its present chunk may have grown. *ret false: the chunks that it has read are not
 * there as they were, or were damaged; it cannot be used any more. All chunks have been there since
 * the stream's beginning, and none is packed.
 */
struct err *stream_cursor_renew(struct stream_cursor *cursor, const struct chunk_index *index,
				size_t first, size_t end, bool *ret);

/*
 * Reads the next record into cursor->event. *ret false: there is none. Damage is counted, and the
 * rest of its chunk is skipped. An error is the machine's: no memory, no disk.
 */
struct err *stream_cursor_next(struct stream_cursor *cursor, bool *ret);

/* Goes on after the decoder's result was not DECODE_RECORD. */
struct err *stream_cursor_next_slow(struct stream_cursor *cursor, enum decode_result result,
				    struct decode_event *event, bool *ret);

/* As stream_cursor_next(), but reads into *event. */
static inline struct err *stream_cursor_next_into(struct stream_cursor *cursor,
						  struct decode_event *event, bool *ret)
{
	enum decode_result result = DECODE_END;

	if (likely(cursor->open)) {
		result = decode_next(&cursor->decode, event);
		if (likely(result == DECODE_RECORD)) {
			*ret = true;
			return NULL;
		}
	}
	return stream_cursor_next_slow(cursor, result, event, ret);
}

#endif
