#include "hosted/zstd_frame.h"

#include <zstd.h>

#include "hosted/cleanup.h"

/* How much is decompressed at a time: little, so that all that stands before damage comes out. */
#define SAVE_STEP 4096

bool zstd_frame_content(const void *data, size_t size, uint64_t *ret)
{
	unsigned long long content = ZSTD_getFrameContentSize(data, size);

	if (content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR)
		return false;
	*ret = content;
	return true;
}

/* Saves what comes before the damage from a frame that zstd refuses as a whole. */
static struct err *save(const void *data, size_t size, void *into, size_t room, size_t *ret)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	ZSTD_outBuffer out = {.dst = into, .size = room};
	size_t at = 0, left = 1;

	if (!context)
		return err_no_memory();
	while (at < size && left && !ZSTD_isError(left)) {
		size_t step = size - at < SAVE_STEP ? size - at : SAVE_STEP;
		ZSTD_inBuffer in = {.src = (const char *)data + at, .size = step};
		size_t before = out.pos;

		left = ZSTD_decompressStream(context, &out, &in);
		at += in.pos;
		if (!in.pos && out.pos == before)
			break;
	}
	ZSTD_freeDCtx(context);
	*ret = out.pos;
	return NULL;
}

struct err *zstd_frame_read(const void *data, size_t size, void *into, size_t room, size_t *ret,
			    bool *whole)
{
	size_t got = ZSTD_decompress(into, room, data, size);

	*whole = !ZSTD_isError(got);
	if (!*whole)
		return save(data, size, into, room, ret);
	*ret = got;
	return NULL;
}

size_t zstd_frame_bound(size_t size)
{
	return ZSTD_compressBound(size);
}

struct zstd_writer {
	ZSTD_CCtx *context;
};

struct err *zstd_writer_create(int level, struct zstd_writer **ret)
{
	auto_free struct zstd_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return err_no_memory();
	writer->context = ZSTD_createCCtx();
	if (!writer->context)
		return err_no_memory();
	ZSTD_CCtx_setParameter(writer->context, ZSTD_c_compressionLevel, level);
	*ret = steal(&writer);
	return NULL;
}

void zstd_writer_destroy(struct zstd_writer *writer)
{
	if (!writer)
		return;
	ZSTD_freeCCtx(writer->context);
	free(writer);
}

struct err *zstd_writer_frame(struct zstd_writer *writer, const void *data, size_t size, void *into,
			      size_t room, size_t *ret)
{
	size_t got = ZSTD_compress2(writer->context, into, room, data, size);

	if (!ZSTD_isError(got)) {
		*ret = got;
		return NULL;
	}
	return err_create("cannot compress: %s", ZSTD_getErrorName(got));
}
