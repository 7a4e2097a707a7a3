#include "server/body.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "hosted/cleanup.h"

/*
 * make() ──► plain ──────────────► body_read()
 *               └─► deflate ──────►
 */
struct body {
	body_make *make;
	void *state;
	body_drop *drop;
	struct buf plain;
	size_t taken; /* of plain */
	bool made;    /* nothing will come to plain any more */
	bool failed;
	bool compressed;
	bool flushed; /* deflate has given all */
	z_stream deflate;
};

static struct err *make_nothing(void *state, struct buf *buf, bool *done)
{
	*done = true;
	return NULL;
}

static void drop_nothing(void *state)
{
}

struct err *body_create(body_make *make, void *state, body_drop *drop, struct body **ret)
{
	struct body *body = calloc(1, sizeof(*body));

	if (!body) {
		drop(state);
		return err_no_memory();
	}
	body->make = make;
	body->state = state;
	body->drop = drop;
	buf_init(&body->plain);
	*ret = body;
	return NULL;
}

struct err *body_create_whole(struct buf *buf, struct body **ret)
{
	struct body *body;
	struct err *err = buf_finish(buf);

	if (!err)
		err = body_create(make_nothing, NULL, drop_nothing, &body);
	if (err)
		return err;
	body->plain = *buf;
	body->made = true;
	buf_init(buf);
	*ret = body;
	return NULL;
}

void body_destroy(struct body *body)
{
	if (!body)
		return;
	if (body->compressed)
		deflateEnd(&body->deflate);
	body->drop(body->state);
	buf_deinit(&body->plain);
	free(body);
}

struct err *body_compress(struct body *body)
{
	// The fastest level: most clients are on this machine. 16: gzip's header, not zlib's.
	if (deflateInit2(&body->deflate, Z_BEST_SPEED, Z_DEFLATED, 16 + MAX_WBITS, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return err_no_memory();
	body->compressed = true;
	return NULL;
}

uint64_t body_size(const struct body *body)
{
	return body->made && !body->compressed ? body->plain.size : UINT64_MAX;
}

/* Makes plain hold something that was not taken yet, unless all was. */
static bool refill(struct body *body)
{
	while (body->taken == body->plain.size && !body->made) {
		struct err *err;

		body->plain.size = body->taken = 0;
		err = body->make(body->state, &body->plain, &body->made);
		if (!err)
			err = buf_finish(&body->plain);
		if (err) {
			err_destroy(err);
			body->failed = true;
			return false;
		}
	}
	return true;
}

static ssize_t read_plain(struct body *body, char *data, size_t size)
{
	size_t left;

	if (!refill(body))
		return -1;
	left = body->plain.size - body->taken;
	if (size > left)
		size = left;
	if (size)
		memcpy(data, body->plain.data + body->taken, size);
	body->taken += size;
	return (ssize_t)size;
}

static ssize_t read_compressed(struct body *body, char *data, size_t size)
{
	z_stream *deflater = &body->deflate;

	// zlib counts in 32 bits; nobody asks for as much at a time.
	deflater->next_out = (Bytef *)data;
	deflater->avail_out = size > BODY_PIECE ? BODY_PIECE : (uInt)size;
	size = deflater->avail_out;
	while (!body->flushed && deflater->avail_out == size) {
		size_t left;
		int status;

		if (!refill(body))
			return -1;
		left = body->plain.size - body->taken;
		if (left > BODY_PIECE)
			left = BODY_PIECE;
		deflater->next_in = left ? (Bytef *)body->plain.data + body->taken : NULL;
		deflater->avail_in = (uInt)left;
		status = deflate(deflater, left ? Z_NO_FLUSH : Z_FINISH);
		body->taken += left - deflater->avail_in;
		body->flushed = status == Z_STREAM_END;
		if (status == Z_STREAM_ERROR)
			return -1;
	}
	return (ssize_t)(size - deflater->avail_out);
}

ssize_t body_read(struct body *body, char *data, size_t size)
{
	if (body->failed)
		return -1;
	return body->compressed ? read_compressed(body, data, size) : read_plain(body, data, size);
}
