#include "analysis/chunks/packed_columns.h"

#include <string.h>

#include "hosted/cleanup.h"
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

struct err *packed_columns_read(const uint8_t *data, size_t size, const uint8_t *headers,
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
