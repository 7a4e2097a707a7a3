#include "finish/finish_extra.h"

#include "analysis/index/index_pack.h"
#include "analysis/names/symbols_pack.h"
#include "analysis/sight/sight.h"
#include "analysis/views/series_stored.h"
#include "base/bytes.h"
#include "hosted/cleanup.h"
#include "hosted/zstd_frame.h"
#include "write/sealed_chunk.h"

#define LEVEL 1 /* levels 2 and 3 make the index 4 to 8 % smaller, in four times the time */

/* *ret_size 0: compressing would not save a page, and nothing is returned. */
static struct err *compress_payload(const void *data, size_t size, uint8_t **ret, size_t *ret_size)
{
	auto_free uint8_t *frame = malloc(zstd_frame_bound(size));
	struct zstd_writer *writer;
	struct err *err;
	size_t got = 0;

	if (!frame)
		return err_no_memory();
	err = zstd_writer_create(LEVEL, &writer);
	if (err)
		return err;
	err = zstd_writer_frame(writer, data, size, frame, zstd_frame_bound(size), &got);
	zstd_writer_destroy(writer);
	if (err)
		return err;
	*ret_size = got + TRACE_PAGE <= bytes_round_up(size, TRACE_PAGE) ? got : 0;
	*ret = steal(&frame);
	return NULL;
}

struct err *finish_extra_put(struct buf *out, enum trace_chunk_kind kind, const void *data,
			     size_t size, enum finish_compress compress)
{
	const struct trace_chunk like = {0};
	uint8_t storage = TRACE_STORAGE_RAW;
	auto_free uint8_t *frame = NULL;
	size_t frame_size = 0;
	struct err *err;

	if (compress != FINISH_COMPRESS_NEVER && size >= TRACE_PAGE) {
		err = compress_payload(data, size, &frame, &frame_size);
		if (err)
			return err;
	}
	if (frame_size) {
		storage = TRACE_STORAGE_ZSTD;
		data = frame;
		size = frame_size;
	}
	// Too large for a chunk: leave it out, and readers make it anew.
	if (size >= TRACE_CONTENT_MAX - TRACE_PAGE)
		return NULL;
	sealed_chunk_put(out, kind, &like, &storage, 1, data, size);
	return buf_finish(out);
}

static struct err *put_curve(struct buf *out, const struct recording *recording,
			     enum finish_compress compress)
{
	size_t size;
	const uint8_t *curve = series_stored_bytes(recording, &size);

	return curve ? finish_extra_put(out, TRACE_CHUNK_CURVE, curve, size, compress) : NULL;
}

static struct err *put_unseen(struct buf *out, const struct recording *recording,
			      enum finish_compress compress)
{
	cleanup(buf_deinit) struct buf packed = BUF_EMPTY;
	struct err *err = sight_pack(recording_facts(recording), &packed);

	return err ? err
		   : finish_extra_put(out, TRACE_CHUNK_UNSEEN, packed.data, packed.size, compress);
}

struct err *finish_extra_make(struct buf *out, const struct recording *recording,
			      struct symbolized *symbolized, enum finish_compress compress,
			      recording_progress *progress, void *argument)
{
	cleanup(buf_deinit) struct buf names = {0}, sums = {0};
	struct err *err;

	buf_init(&names);
	err = symbols_pack(symbolized, progress, argument, &names);
	if (!err)
		err = buf_finish(&names);
	if (!err && names.size)
		err = finish_extra_put(out, TRACE_CHUNK_SYMBOLS, names.data, names.size, compress);
	if (err)
		return err;
	buf_init(&sums);
	err = index_pack(recording, &sums);
	if (!err)
		err = buf_finish(&sums);
	if (!err && sums.size)
		err = finish_extra_put(out, TRACE_CHUNK_INDEX, sums.data, sums.size, compress);
	if (!err)
		err = put_curve(out, recording, compress);
	return err ? err : put_unseen(out, recording, compress);
}
