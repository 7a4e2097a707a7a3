#include "finish/finish_packed.h"

#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "hosted/zstd_frame.h"
#include "trace/chunk_check.h"
#include "trace/columns.h"
#include "write/sealed_chunk.h"

struct finish_packed {
	struct zstd_writer *writer;
	uint8_t *columns; /* room for all columns, one after the other */
	size_t columns_capacity;
	uint8_t *frames;
	size_t frames_capacity;
	struct buf head; /* what stands before the frames */
};

struct err *finish_packed_create(int level, struct finish_packed **ret)
{
	auto_free struct finish_packed *packed = calloc(1, sizeof(*packed));
	struct err *err;

	if (!packed)
		return err_no_memory();
	buf_init(&packed->head);
	err = zstd_writer_create(level, &packed->writer);
	if (err)
		return err;
	*ret = steal(&packed);
	return NULL;
}

void finish_packed_destroy(struct finish_packed *packed)
{
	if (!packed)
		return;
	zstd_writer_destroy(packed->writer);
	free(packed->columns);
	free(packed->frames);
	buf_deinit(&packed->head);
	free(packed);
}

static bool reserve(uint8_t **bytes, size_t *capacity, size_t size)
{
	return size <= *capacity || vec_grow((void **)bytes, capacity, 0, size, 1);
}

static void put_head(struct buf *head, uint8_t storage, const struct buf *headers)
{
	head->size = 0;
	buf_put(head, &storage, 1);
	buf_varint(head, headers->size / sizeof(struct trace_chunk));
	buf_put(head, headers->data, headers->size);
}

/* Splits the payloads into columns. *good false: a payload is not made of whole records. */
static struct err *split(struct finish_packed *packed, const struct buf *headers,
			 const struct buf *payload, struct columns *columns, bool *good)
{
	size_t room = payload->size + COLUMNS_SLACK, at = 0;

	*good = false;
	if (room > SIZE_MAX / COLUMNS_COUNT ||
	    !reserve(&packed->columns, &packed->columns_capacity, room * COLUMNS_COUNT))
		return err_no_memory();
	for (int i = 0; i < COLUMNS_COUNT; i++)
		columns->at[i] = packed->columns + room * i;
	for (size_t i = 0; i < headers->size; i += sizeof(struct trace_chunk)) {
		struct trace_chunk header;

		memcpy(&header, headers->data + i, sizeof(header));
		if (!columns_split(columns, (const uint8_t *)payload->data + at,
				   chunk_committed(&header)))
			return NULL;
		at += chunk_committed(&header);
	}
	*good = true;
	return NULL;
}

/* Makes a frame of each column, and puts the frames' sizes into the head. */
static struct err *compress_columns(struct finish_packed *packed, const struct columns *columns,
				    size_t payload, size_t *ret)
{
	size_t room = payload + COLUMNS_SLACK, at = 0;

	// However it is split, the content needs hardly more room than as a whole.
	if (!reserve(&packed->frames, &packed->frames_capacity,
		     zstd_frame_bound(payload) + COLUMNS_COUNT * zstd_frame_bound(0)))
		return err_no_memory();
	for (int i = 0; i < COLUMNS_COUNT; i++) {
		const uint8_t *column = packed->columns + room * i;
		struct err *err;
		size_t got;

		err = zstd_writer_frame(packed->writer, column, (size_t)(columns->at[i] - column),
					packed->frames + at, packed->frames_capacity - at, &got);
		if (err)
			return err;
		buf_varint(&packed->head, got);
		at += got;
	}
	*ret = at;
	return NULL;
}

static struct err *compress_whole(struct finish_packed *packed, const struct buf *payload,
				  size_t *ret)
{
	if (!reserve(&packed->frames, &packed->frames_capacity, zstd_frame_bound(payload->size)))
		return err_no_memory();
	return zstd_writer_frame(packed->writer, payload->data, payload->size, packed->frames,
				 packed->frames_capacity, ret);
}

struct err *finish_packed_put(struct finish_packed *packed, const struct buf *headers,
			      const struct buf *payload, struct buf *out)
{
	struct trace_chunk first;
	struct columns columns;
	struct err *err;
	size_t frames = 0;
	bool good;

	err = split(packed, headers, payload, &columns, &good);
	if (err)
		return err;
	put_head(&packed->head, good ? TRACE_STORAGE_COLUMNS : TRACE_STORAGE_ZSTD, headers);
	err = good ? compress_columns(packed, &columns, payload->size, &frames)
		   : compress_whole(packed, payload, &frames);
	if (!err)
		err = buf_finish(&packed->head);
	if (err)
		return err;
	memcpy(&first, headers->data, sizeof(first));
	sealed_chunk_put(out, TRACE_CHUNK_PACKED, &first, packed->head.data, packed->head.size,
			 packed->frames, frames);
	return buf_finish(out);
}
