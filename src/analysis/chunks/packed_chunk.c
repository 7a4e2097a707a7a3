#include "analysis/chunks/packed_chunk.h"

#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/err.h"
#include "hosted/zstd_frame.h"
#include "trace/chunk_check.h"
#include "trace/cursor.h"

/* A stored column: its frame, and how many bytes the frame says it holds. */
struct stored_column {
	const uint8_t *frame;
	size_t frame_size;
	size_t size;
};

/*
 * Finds the columns, whose sizes together are at most room. A column that is cut off counts as
 * empty.
 */
static size_t find_columns(const uint8_t *data, size_t size, size_t room,
			   struct stored_column columns[COLUMNS_COUNT])
{
	struct cursor cursor = cursor_make(data, size);
	uint64_t sizes[COLUMNS_COUNT];
	size_t total = 0;

	for (int i = 0; i < COLUMNS_COUNT; i++)
		sizes[i] = cursor_varint(&cursor);
	for (int i = 0; i < COLUMNS_COUNT; i++) {
		size_t left = cursor.failed ? 0 : cursor_left(&cursor);
		uint64_t holds = 0;

		columns[i].frame_size = sizes[i] < left ? (size_t)sizes[i] : left;
		columns[i].frame = cursor.at;
		cursor.at += columns[i].frame_size;
		if (!zstd_frame_content(columns[i].frame, columns[i].frame_size, &holds) ||
		    holds > room - total)
			holds = 0;
		columns[i].size = (size_t)holds;
		total += columns[i].size;
	}
	return total;
}

static size_t join(struct columns *columns, const uint8_t *headers, uint32_t count,
		   uint8_t *content, size_t room)
{
	size_t done = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct trace_chunk header;
		uint32_t committed;
		size_t got;

		memcpy(&header, headers + i * sizeof(header), sizeof(header));
		committed = chunk_committed(&header);
		if (committed > room - done)
			break;
		got = columns_join(columns, content + done, committed);
		done += got;
		if (got < committed)
			break;
	}
	return done;
}

/*
 * Decompresses the columns at data, and joins them to payloads, one after the other in content.
 * headers: the count headers that stand before data. content must have room bytes, into which the
 * payloads fit, and COLUMNS_SLACK more. *ret: how many bytes are right; fewer than room: damaged.
 */
static struct err *packed_columns_read(const uint8_t *data, size_t size, const uint8_t *headers,
				       uint32_t count, uint8_t *content, size_t room, size_t *ret)
{
	struct stored_column stored[COLUMNS_COUNT];
	size_t total = find_columns(data, size, room, stored);
	auto_free uint8_t *bytes = malloc(total + (size_t)COLUMNS_COUNT * COLUMNS_SLACK);
	struct columns columns;
	uint8_t *at = bytes;

	if (!bytes)
		return err_no_memory();
	for (int i = 0; i < COLUMNS_COUNT; i++) {
		struct err *err = NULL;
		size_t got = 0;
		bool whole;

		if (stored[i].size)
			err = zstd_frame_read(stored[i].frame, stored[i].frame_size, at,
					      stored[i].size, &got, &whole);
		if (err)
			return err;
		columns.at[i] = at;
		columns.end[i] = at + got;
		memset(at + got, 0, COLUMNS_SLACK);
		at += stored[i].size + COLUMNS_SLACK;
	}
	*ret = join(&columns, headers, count, content, room);
	return NULL;
}

static uint64_t payload_offset(uint64_t chunk)
{
	return chunk + sizeof(struct trace_chunk);
}

/*
 * Whether the headers belong into the chunk: of its stream, in the order of their sequence, and of
 * a possible size.
 */
static bool headers_fit(const struct trace_chunk *headers, const struct trace_chunk *chunk,
			struct packed_chunk *packed)
{
	uint64_t content = 0;

	for (uint32_t i = 0; i < packed->count; i++) {
		struct trace_chunk checked;
		const char *expected;

		if (chunk_check(&headers[i], &checked, &expected) != CHUNK_VALID ||
		    headers[i].kind != TRACE_CHUNK_EVENTS ||
		    !(headers[i].flags & TRACE_CHUNK_SEALED) || headers[i].stream != chunk->stream)
			return false;
		if (i && chunk_sequence(&headers[i]) <= chunk_sequence(&headers[i - 1]))
			return false;
		content += chunk_committed(&headers[i]);
	}
	packed->content = (uint32_t)content;
	// A small file must not make us ask for a gigabyte.
	return content <= TRACE_CONTENT_MAX &&
	       content <= (uint64_t)TRACE_PACKED_RATIO_MAX * chunk->size;
}

struct err *packed_chunk_read_headers(const struct byte_source *source, uint64_t offset,
				      const struct trace_chunk *header, struct packed_chunk *packed,
				      struct trace_chunk **headers, const char **expected)
{
	struct packed_chunk found = {
		.offset = offset,
		.size = header->size,
		.committed = chunk_committed(header),
	};
	auto_free struct trace_chunk *read = NULL;
	uint8_t start[1 + VARINT_MAX] = {0};
	struct cursor cursor = cursor_make(start, sizeof(start));
	struct err *err;
	uint64_t count;
	size_t got;

	*expected = "the headers of the events chunks that it holds";
	err = byte_source_read(source, payload_offset(offset), start, sizeof(start), &got);
	if (err)
		return err;
	found.storage = cursor_u8(&cursor);
	count = cursor_varint(&cursor);
	found.headers_at = (uint32_t)(sizeof(start) - cursor_left(&cursor));
	if (cursor.failed || found.storage < TRACE_STORAGE_ZSTD ||
	    found.storage > TRACE_STORAGE_COLUMNS || found.headers_at > found.committed || !count ||
	    count > (found.committed - found.headers_at) / sizeof(*read))
		return NULL;
	found.count = (uint32_t)count;
	read = malloc(count * sizeof(*read));
	if (!read)
		return err_no_memory();
	err = byte_source_read(source, payload_offset(offset) + found.headers_at, read,
			       count * sizeof(*read), &got);
	if (err)
		return err;
	if (got < count * sizeof(*read) || !headers_fit(read, header, &found))
		return NULL;
	*packed = found;
	*headers = steal(&read);
	*expected = NULL;
	return NULL;
}

/* Decompresses the payloads. data: what follows the headers. */
static struct err *decompress(const struct packed_chunk *packed, const uint8_t *headers,
			      const uint8_t *data, size_t size, uint8_t *content, size_t *ret)
{
	bool whole;

	if (packed->storage == TRACE_STORAGE_ZSTD)
		return zstd_frame_read(data, size, content, packed->content, ret, &whole);
	return packed_columns_read(data, size, headers, packed->count, content, packed->content,
				   ret);
}

struct err *packed_chunk_read_content(const struct byte_source *source,
				      const struct packed_chunk *packed, uint8_t *content,
				      size_t *ret, const char **expected)
{
	size_t headers_at = sizeof(struct trace_chunk) + packed->headers_at;
	size_t data_at = headers_at + (size_t)packed->count * sizeof(struct trace_chunk);
	size_t end = sizeof(struct trace_chunk) + packed->committed;
	auto_free uint8_t *bytes = malloc(packed->size);
	struct err *err;
	size_t got;

	if (!bytes)
		return err_no_memory();
	err = byte_source_read(source, packed->offset, bytes, packed->size, &got);
	if (err)
		return err;
	*expected = NULL;
	if (got < packed->size)
		*expected = "a whole chunk before the file's end";
	else if (!chunk_check_trailer(bytes, got))
		*expected = "a chunk that matches its checksum";
	if (end > got)
		end = got;
	*ret = 0;
	if (data_at < end)
		err = decompress(packed, bytes + headers_at, bytes + data_at, end - data_at,
				 content, ret);
	if (!err && !*expected && *ret != packed->content)
		*expected = "compressed payloads of the chunks";
	return err;
}
