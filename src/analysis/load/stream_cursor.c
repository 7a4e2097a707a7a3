#include "analysis/load/stream_cursor.h"

#include <stdlib.h>

void stream_cursor_init(struct stream_cursor *cursor, const struct byte_source *source,
			struct damage *damage, const struct chunk_index *index, size_t first,
			size_t end)
{
	*cursor = (struct stream_cursor){
		.source = source,
		.damage = damage,
		.chunks = index->chunks.items + first,
		.packs = index->packs.items,
		.count = end - first,
		.pack = CHUNK_UNPACKED,
	};
}

void stream_cursor_deinit(struct stream_cursor *cursor)
{
	free(cursor->decode.stack);
	free(cursor->buffer);
	cursor->decode.stack = NULL;
	cursor->buffer = NULL;
}

/* Counts a damaged chunk once, at the place where the damage begins. */
static void note(struct stream_cursor *cursor, uint64_t offset, const char *expected)
{
	if (!cursor->noted)
		damage_note(cursor->damage, offset, expected);
	cursor->noted = true;
}

static struct err *grow_stack(struct stream_cursor *cursor)
{
	size_t capacity = cursor->decode.capacity;
	struct decode_frame *stack = cursor->decode.stack;

	if (!vec_grow((void **)&stack, &capacity, 0, cursor->decode.needed, sizeof(*stack)))
		return err_no_memory();
	cursor->decode.stack = stack;
	cursor->decode.capacity = (uint32_t)capacity;
	return NULL;
}

static struct err *reserve(struct stream_cursor *cursor, size_t size)
{
	cursor->pack = CHUNK_UNPACKED;
	if (size <= cursor->capacity ||
	    vec_grow((void **)&cursor->buffer, &cursor->capacity, 0, size, 1))
		return NULL;
	return err_no_memory();
}

/* Reads a sealed chunk. *committed: how much of its payload is there. */
static struct err *read_sealed(struct stream_cursor *cursor, const struct indexed_chunk *chunk,
			       const uint8_t **payload, uint32_t *committed)
{
	size_t size = chunk->header.size, got, there;
	struct err *err;

	err = reserve(cursor, size);
	if (err)
		return err;
	err = byte_source_read(cursor->source, chunk->offset, cursor->buffer, size, &got);
	if (err)
		return err;
	if (got < size)
		note(cursor, chunk->offset, "a whole chunk before the file's end");
	else if (!chunk_check_trailer(cursor->buffer, size))
		note(cursor, chunk->offset, "a chunk that matches its checksum");
	there = got > sizeof(chunk->header) ? got - sizeof(chunk->header) : 0;
	if (there < *committed)
		*committed = (uint32_t)there;
	*payload = cursor->buffer + sizeof(chunk->header);
	return NULL;
}

/* The same for a chunk inside a packed one, which is decompressed when its first chunk is read. */
static struct err *read_packed(struct stream_cursor *cursor, const struct indexed_chunk *chunk,
			       const uint8_t **payload, uint32_t *committed)
{
	const struct packed_chunk *pack = &cursor->packs[chunk->pack];
	const char *expected;
	struct err *err;
	size_t there;

	if (cursor->pack != chunk->pack) {
		err = reserve(cursor, packed_chunk_room(pack));
		if (err)
			return err;
		err = packed_chunk_read_content(cursor->source, pack, cursor->buffer,
						&cursor->pack_size, &expected);
		if (err)
			return err;
		cursor->pack = chunk->pack;
		if (expected)
			note(cursor, chunk->offset, expected);
	}
	there = cursor->pack_size > chunk->pack_at ? cursor->pack_size - chunk->pack_at : 0;
	if (there < *committed) {
		note(cursor, chunk->offset, "a whole chunk inside a packed one");
		*committed = (uint32_t)there;
	}
	*payload = cursor->buffer + chunk->pack_at;
	return NULL;
}

/* *payload: the chunk's. *committed: how much of it is there. */
static struct err *read_payload(struct stream_cursor *cursor, const struct indexed_chunk *chunk,
				const uint8_t **payload, uint32_t *committed)
{
	*committed = chunk_committed(&chunk->header);
	*payload = chunk->copy;
	if (!(chunk->header.flags & TRACE_CHUNK_SEALED))
		return NULL;
	return chunk->pack == CHUNK_UNPACKED ? read_sealed(cursor, chunk, payload, committed)
					     : read_packed(cursor, chunk, payload, committed);
}

static struct err *open_chunk(struct stream_cursor *cursor)
{
	const struct indexed_chunk *chunk = &cursor->chunks[cursor->next];
	uint32_t expected_sequence = cursor->next ? chunk_sequence(&chunk[-1].header) + 1 : 0;
	bool follows = chunk_sequence(&chunk->header) == expected_sequence;
	enum decode_result result;
	const uint8_t *payload;
	uint32_t committed;
	struct err *err;

	cursor->noted = false;
	err = read_payload(cursor, chunk, &payload, &committed);
	if (err)
		return err;
	while ((result = decode_chunk(&cursor->decode, payload, committed, chunk->header.base_ticks,
				      chunk->header.carried, follows && cursor->whole)) ==
	       DECODE_NEED_STACK) {
		err = grow_stack(cursor);
		if (err)
			return err;
	}
	cursor->next++;
	cursor->done += chunk_committed(&chunk->header);
	cursor->open = result == DECODE_RECORD;
	// If the chunk was cut, the frames at its end are not known.
	cursor->whole = committed == chunk_committed(&chunk->header);
	if (!cursor->open) {
		cursor->whole = false;
		note(cursor, chunk->offset, cursor->decode.expected);
	}
	return NULL;
}

/*
 * Whether there is a chunk to open. Not the stream's slot as long as nothing is committed: its
 * writer may just have begun it anew, and not yet have set base and carried.
 */
static bool can_open(const struct stream_cursor *cursor)
{
	const struct trace_chunk *header;

	if (cursor->next == cursor->count)
		return false;
	header = &cursor->chunks[cursor->next].header;
	return cursor->next + 1 < cursor->count || header->flags & TRACE_CHUNK_SEALED ||
	       chunk_committed(header);
}

struct err *stream_cursor_renew(struct stream_cursor *cursor, const struct chunk_index *index,
				size_t first, size_t end, bool *ret)
{
	const struct indexed_chunk *chunk;
	struct err *err = NULL;
	uint32_t committed;

	*ret = end - first >= cursor->next;
	cursor->chunks = index->chunks.items + first;
	cursor->packs = index->packs.items;
	cursor->count = end - first;
	if (!*ret || !cursor->next)
		return NULL;
	chunk = &cursor->chunks[cursor->next - 1];
	committed = chunk_committed(&chunk->header);
	*ret = cursor->whole && committed >= cursor->decode.size;
	if (!*ret || (!cursor->open && committed == cursor->decode.size))
		return NULL;
	cursor->done += committed - cursor->decode.size;
	err = read_payload(cursor, chunk, &cursor->decode.payload, &cursor->decode.size);
	*ret = cursor->decode.size == committed;
	cursor->open = true;
	return err;
}

/* Where in the file the undecodable record is, as near as can be said. */
static uint64_t bad_offset(const struct stream_cursor *cursor)
{
	const struct indexed_chunk *chunk = &cursor->chunks[cursor->next - 1];

	if (chunk->pack != CHUNK_UNPACKED)
		return chunk->offset;
	return chunk->offset + sizeof(chunk->header) + cursor->decode.at;
}

struct err *stream_cursor_next(struct stream_cursor *cursor, bool *ret)
{
	return stream_cursor_next_into(cursor, &cursor->event, ret);
}

struct err *stream_cursor_next_slow(struct stream_cursor *cursor, enum decode_result result,
				    struct decode_event *event, bool *ret)
{
	struct err *err = NULL;

	for (;;) {
		switch (result) {
		case DECODE_RECORD:
			*ret = true;
			return NULL;
		case DECODE_END:
			cursor->open = false;
			break;
		case DECODE_NEED_STACK:
			err = grow_stack(cursor);
			break;
		case DECODE_BAD:
			cursor->open = false;
			cursor->whole = false;
			note(cursor, bad_offset(cursor), cursor->decode.expected);
			break;
		}
		while (!err && !cursor->open && can_open(cursor))
			err = open_chunk(cursor);
		if (err)
			return err;
		if (!cursor->open) {
			*ret = false;
			return NULL;
		}
		result = decode_next(&cursor->decode, event);
	}
}
