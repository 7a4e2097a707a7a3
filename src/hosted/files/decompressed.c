/* The libraries' own streaming interfaces: zlib.h, zstd.h, lz4frame.h, lzma.h. */
#include "hosted/files/decompressed.h"

#include <errno.h>
#include <lz4frame.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "hosted/files/cache_folder.h"

#define PIECE       (1u << 18)
#define PAGE        4096u
#define GZIP_HEADER 16                    /* asks zlib for gzip's header, not its own */
#define XZ_MEMORY   (UINT64_C(256) << 20) /* files of `xz -9` need 65 MiB */
#define HEAD        6

struct stream {
	const char *name;
	enum decompressed_kind kind;
	int from, to;
	uint64_t written;
	bool ended; /* the data so far ends as it should */
	z_stream gzip;
	ZSTD_DCtx *zstd;
	LZ4F_dctx *lz4;
	lzma_stream xz;
	uint8_t in[PIECE], out[PIECE];
};

enum decompressed_kind decompressed_kind(const void *head, size_t size)
{
	static const struct {
		enum decompressed_kind kind;
		uint8_t magic[6], length;
	} kinds[] = {
		{DECOMPRESSED_GZIP, {0x1f, 0x8b}, 2},
		{DECOMPRESSED_ZSTD, {0x28, 0xb5, 0x2f, 0xfd}, 4},
		{DECOMPRESSED_LZ4, {0x04, 0x22, 0x4d, 0x18}, 4},
		{DECOMPRESSED_XZ, {0xfd, '7', 'z', 'X', 'Z', 0}, 6},
	};

	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
		if (size >= kinds[i].length && memcmp(head, kinds[i].magic, kinds[i].length) == 0)
			return kinds[i].kind;
	return DECOMPRESSED_NONE;
}

const char *decompressed_name(enum decompressed_kind kind)
{
	switch (kind) {
	case DECOMPRESSED_GZIP:
		return "gzip";
	case DECOMPRESSED_ZSTD:
		return "zstd";
	case DECOMPRESSED_LZ4:
		return "lz4";
	case DECOMPRESSED_XZ:
		return "xz";
	case DECOMPRESSED_NONE:
		break;
	}
	return "";
}

static bool begin_stream(struct stream *stream)
{
	switch (stream->kind) {
	case DECOMPRESSED_GZIP:
		return inflateInit2(&stream->gzip, MAX_WBITS + GZIP_HEADER) == Z_OK;
	case DECOMPRESSED_ZSTD:
		stream->zstd = ZSTD_createDCtx();
		return stream->zstd;
	case DECOMPRESSED_LZ4:
		return !LZ4F_isError(LZ4F_createDecompressionContext(&stream->lz4, LZ4F_VERSION));
	case DECOMPRESSED_XZ:
		// Several files may follow each other.
		return lzma_stream_decoder(&stream->xz, XZ_MEMORY, LZMA_CONCATENATED) == LZMA_OK;
	case DECOMPRESSED_NONE:
		break;
	}
	return false;
}

static void end_stream(struct stream *stream)
{
	if (stream->kind == DECOMPRESSED_GZIP)
		inflateEnd(&stream->gzip);
	ZSTD_freeDCtx(stream->zstd);
	LZ4F_freeDecompressionContext(stream->lz4);
	lzma_end(&stream->xz);
	free(stream);
}
CLEANUP_DEFINE(struct stream *, end_stream);

/*
 * Decompresses from data. *used, *made: how many bytes went in and came out. false: these bytes are
 * damaged.
 */
static bool step_stream(struct stream *stream, const uint8_t *data, size_t size, size_t *used,
			size_t *made)
{
	ZSTD_inBuffer in = {data, size, 0};
	ZSTD_outBuffer out = {stream->out, PIECE, 0};
	size_t status = 0;
	int result;

	switch (stream->kind) {
	case DECOMPRESSED_GZIP:
		stream->gzip.next_in = (uint8_t *)data;
		stream->gzip.avail_in = (uInt)size;
		stream->gzip.next_out = stream->out;
		stream->gzip.avail_out = PIECE;
		result = inflate(&stream->gzip, Z_NO_FLUSH);
		*used = size - stream->gzip.avail_in;
		*made = PIECE - stream->gzip.avail_out;
		// Several files may follow each other.
		if (*used || *made)
			stream->ended = result == Z_STREAM_END;
		if (result == Z_STREAM_END)
			result = inflateReset(&stream->gzip);
		return result == Z_OK || result == Z_BUF_ERROR;
	case DECOMPRESSED_ZSTD:
		status = ZSTD_decompressStream(stream->zstd, &out, &in);
		*used = in.pos;
		*made = out.pos;
		stream->ended = !status;
		return !ZSTD_isError(status);
	case DECOMPRESSED_LZ4:
		*used = size;
		*made = PIECE;
		status = LZ4F_decompress(stream->lz4, stream->out, made, data, used, NULL);
		stream->ended = !status;
		return !LZ4F_isError(status);
	case DECOMPRESSED_XZ:
		stream->xz.next_in = data;
		stream->xz.avail_in = size;
		stream->xz.next_out = stream->out;
		stream->xz.avail_out = PIECE;
		status = lzma_code(&stream->xz, LZMA_RUN);
		*used = size - stream->xz.avail_in;
		*made = PIECE - stream->xz.avail_out;
		return status == LZMA_OK || status == LZMA_BUF_ERROR;
	case DECOMPRESSED_NONE:
		break;
	}
	return false;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	return !bytes[0] && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* Writes what came out. Pages of zeros stay holes. Returns 0 or an errno. */
static int write_out(struct stream *stream, size_t size)
{
	size_t at = 0;

	while (at < size) {
		size_t piece = size - at < PAGE ? size - at : PAGE;
		ssize_t done = (ssize_t)piece;

		if (!is_zero(stream->out + at, piece))
			done = pwrite(stream->to, stream->out + at, piece,
				      (off_t)(stream->written + at));
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return errno;
		at += (size_t)done;
	}
	stream->written += size;
	return 0;
}

static struct err *say_full(const struct stream *stream, int number)
{
	return err_create_errno(number, "%s: cannot be decompressed into $TMPDIR or the cache",
				stream->name);
}

/* Takes all of one piece of the file. *more false: it is damaged. */
static struct err *take_piece(struct stream *stream, size_t size, bool *more)
{
	size_t at = 0, used, made;

	do {
		int failure;

		*more = step_stream(stream, stream->in + at, size - at, &used, &made);
		if (!*more)
			return NULL;
		failure = write_out(stream, made);
		if (failure)
			return say_full(stream, failure);
		at += used;
	} while (at < size ? used || made : made == PIECE);
	return NULL;
}

static struct err *take_all(struct stream *stream)
{
	struct err *err = NULL;
	off_t at = 0;
	bool more = true;

	while (!err && more) {
		ssize_t got = pread(stream->from, stream->in, PIECE, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_create_errno(errno, "%s", stream->name);
		if (!got)
			break;
		at += got;
		err = take_piece(stream, (size_t)got, &more);
	}
	// liblzma wants to be told that no other file follows.
	if (stream->kind == DECOMPRESSED_XZ)
		stream->ended = more && lzma_code(&stream->xz, LZMA_FINISH) == LZMA_STREAM_END;
	stream->ended &= more;
	if (!err && ftruncate(stream->to, (off_t)stream->written) < 0)
		err = say_full(stream, errno);
	return err;
}

/* *ret: NULL if the file is not compressed. */
static struct err *open_stream(const char *name, int fd, struct stream **ret)
{
	cleanup(end_stream_at) struct stream *stream = NULL;
	uint8_t head[HEAD];
	ssize_t got = pread(fd, head, sizeof(head), 0);

	*ret = NULL;
	if (got < 0)
		return err_create_errno(errno, "%s", name);
	if (decompressed_kind(head, (size_t)got) == DECOMPRESSED_NONE)
		return NULL;
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return err_no_memory();
	stream->name = name;
	stream->kind = decompressed_kind(head, (size_t)got);
	stream->from = fd;
	if (!begin_stream(stream))
		return err_no_memory();
	*ret = steal(&stream);
	return NULL;
}

struct err *decompressed_head(const char *name, int fd, void *buffer, size_t size, size_t *ret)
{
	cleanup(end_stream_at) struct stream *stream = NULL;
	struct err *err = open_stream(name, fd, &stream);
	ssize_t got = err ? 0 : pread(fd, stream ? stream->in : buffer, stream ? PIECE : size, 0);
	size_t used = 0, made = 0, at = 0;

	*ret = 0;
	if (err)
		return err;
	if (got < 0)
		return err_create_errno(errno, "%s", name);
	if (!stream) {
		*ret = (size_t)got;
		return NULL;
	}
	while (*ret < size && at < (size_t)got &&
	       step_stream(stream, stream->in + at, (size_t)got - at, &used, &made) &&
	       (used || made)) {
		size_t take = made < size - *ret ? made : size - *ret;

		memcpy((uint8_t *)buffer + *ret, stream->out, take);
		*ret += take;
		at += used;
	}
	return NULL;
}

struct err *decompressed_open(const char *name, int fd, int *ret, bool *whole)
{
	cleanup(end_stream_at) struct stream *stream = NULL;
	struct err *err = open_stream(name, fd, &stream);

	*ret = -1;
	*whole = true;
	if (err || !stream)
		return err;
	stream->to = cache_folder_nameless();
	if (stream->to < 0)
		return say_full(stream, errno);
	err = take_all(stream);
	*whole = stream->ended;
	if (err)
		close(stream->to);
	else
		*ret = stream->to;
	return err;
}
