#include "hosted/compressor.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "hosted/cleanup.h"

#define PIECE       (64u << 10) /* the most bytes that come out at a time */
#define GZIP_LEVEL  4           /* a third of the time of the usual 6, and a tenth more bytes */
#define GZIP_HEADER 16          /* asks zlib for gzip's header, not its own */
#define GZIP_MEMORY 8           /* zlib's usual amount */
#define ZSTD_LEVEL  3

struct compressor {
	enum compression compression;
	struct buf *out;
	struct buf in; /* its sink compresses */
	z_stream gzip;
	ZSTD_CCtx *zstd;
	char piece[PIECE];
};

enum compression compression_of_name(const char *name)
{
	size_t length = strlen(name);

	if (length > 3 && strcmp(name + length - 3, ".gz") == 0)
		return COMPRESSION_GZIP;
	if (length > 4 && strcmp(name + length - 4, ".zst") == 0)
		return COMPRESSION_ZSTD;
	return COMPRESSION_NONE;
}

/* Returns 0 or an errno, as a sink does. size: below 4 GB, because zlib counts in 32 bits. */
static int deflate_piece(struct compressor *compressor, const void *data, size_t size, bool last)
{
	z_stream *gzip = &compressor->gzip;
	int status;

	gzip->next_in = (Bytef *)(uintptr_t)data; // zlib does not write to it
	gzip->avail_in = (uInt)size;
	do {
		gzip->next_out = (Bytef *)compressor->piece;
		gzip->avail_out = PIECE;
		status = deflate(gzip, last ? Z_FINISH : Z_NO_FLUSH);
		if (status == Z_STREAM_ERROR)
			return EINVAL;
		buf_put(compressor->out, compressor->piece, PIECE - gzip->avail_out);
	} while (!gzip->avail_out);
	return 0;
}

static int deflate_all(struct compressor *compressor, const char *data, size_t size, bool last)
{
	const size_t most = (size_t)1 << 30;

	for (; size > most; data += most, size -= most) {
		int failure = deflate_piece(compressor, data, most, false);

		if (failure)
			return failure;
	}
	return deflate_piece(compressor, data, size, last);
}

static int zstd_all(struct compressor *compressor, const char *data, size_t size, bool last)
{
	ZSTD_inBuffer in = {.src = data, .size = size};
	size_t left;

	do {
		ZSTD_outBuffer out = {.dst = compressor->piece, .size = PIECE};

		left = ZSTD_compressStream2(compressor->zstd, &out, &in,
					    last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return ENOMEM; // zstd allocates late; nothing else can fail
		buf_put(compressor->out, compressor->piece, out.pos);
	} while (in.pos < in.size || (last && left));
	return 0;
}

static int compress_all(struct compressor *compressor, const void *data, size_t size, bool last)
{
	if (compressor->compression == COMPRESSION_GZIP)
		return deflate_all(compressor, data, size, last);
	return zstd_all(compressor, data, size, last);
}

static int take_piece(void *argument, const void *data, size_t size)
{
	return compress_all(argument, data, size, false);
}

void compressor_destroy(struct compressor *compressor)
{
	if (!compressor)
		return;
	buf_deinit(&compressor->in);
	deflateEnd(&compressor->gzip); // does nothing if it was never begun
	ZSTD_freeCCtx(compressor->zstd);
	free(compressor);
}

static bool begin_stream(struct compressor *compressor)
{
	switch (compressor->compression) {
	case COMPRESSION_GZIP:
		return deflateInit2(&compressor->gzip, GZIP_LEVEL, Z_DEFLATED,
				    MAX_WBITS + GZIP_HEADER, GZIP_MEMORY,
				    Z_DEFAULT_STRATEGY) == Z_OK;
	case COMPRESSION_ZSTD:
		compressor->zstd = ZSTD_createCCtx();
		return compressor->zstd &&
		       !ZSTD_isError(ZSTD_CCtx_setParameter(compressor->zstd,
							    ZSTD_c_compressionLevel, ZSTD_LEVEL));
	default:
		return true;
	}
}

struct err *compressor_create(enum compression compression, struct buf *out,
			      struct compressor **ret)
{
	cleanup(compressor_destroy_at) struct compressor *compressor =
		calloc(1, sizeof(*compressor));

	if (!compressor)
		return err_no_memory();
	compressor->compression = compression;
	compressor->out = out;
	buf_init_sink(&compressor->in, take_piece, compressor, "compressed bytes");
	if (!begin_stream(compressor))
		return err_no_memory();
	*ret = steal(&compressor);
	return NULL;
}

struct buf *compressor_input(struct compressor *compressor)
{
	if (compressor->compression == COMPRESSION_NONE)
		return compressor->out;
	return &compressor->in;
}

struct err *compressor_finish(struct compressor *compressor)
{
	struct err *err;
	int failure;

	if (compressor->compression == COMPRESSION_NONE)
		return NULL;
	err = buf_finish(&compressor->in);
	if (err)
		return err;
	failure = compress_all(compressor, NULL, 0, true);
	return failure ? err_create_errno(failure, "cannot compress") : NULL;
}

struct err *gzip_put(struct buf *buf, const void *data, size_t size, enum gzip_effort effort)
{
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor((int)effort);
	size_t bound = compressor ? libdeflate_gzip_compress_bound(compressor, size) : 0;
	void *room = compressor ? buf_room(buf, bound) : NULL;

	if (room)
		buf->size += libdeflate_gzip_compress(compressor, data, size, room, bound);
	libdeflate_free_compressor(compressor);
	return room ? NULL : err_no_memory();
}
