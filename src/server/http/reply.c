#include "server/http/reply.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/compressor.h"

/*
 * make() ──► plain ──────────────────────────► body_read()
 *               └─► compressor ──► packed ────►
 */
struct body {
	body_make *make;
	void *state;
	body_drop *drop; /* NULL: of a whole one */
	struct buf plain;
	size_t taken; /* bytes of plain that were taken */
	bool made;    /* plain gets no more bytes */
	bool failed;
	struct compressor *compressor; /* NULL: not compressed */
	struct buf packed;
	size_t packed_taken;
	bool packed_all; /* packed gets no more bytes */
};

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
	buf_init(&body->packed);
	*ret = body;
	return NULL;
}

struct err *body_create_whole(struct buf *buf, struct body **ret)
{
	struct err *err = buf_finish(buf);
	struct body *body;

	if (err)
		return err;
	body = calloc(1, sizeof(*body));
	if (!body)
		return err_no_memory();
	body->plain = *buf;
	body->made = true;
	buf_init(&body->packed);
	buf_init(buf);
	*ret = body;
	return NULL;
}

void body_destroy(struct body *body)
{
	if (!body)
		return;
	compressor_destroy(body->compressor);
	if (body->drop)
		body->drop(body->state);
	buf_deinit(&body->packed);
	buf_deinit(&body->plain);
	free(body);
}

struct err *body_compress(struct body *body)
{
	return compressor_create(COMPRESSION_GZIP, &body->packed, &body->compressor);
}

struct err *body_pack(struct body *body)
{
	cleanup(buf_deinit) struct buf packed = BUF_EMPTY;
	struct err *err = gzip_put(&packed, body->plain.data, body->plain.size, GZIP_MOST);

	if (err)
		return err;
	buf_deinit(&body->plain);
	body->plain = packed;
	buf_init(&packed);
	return NULL;
}

uint64_t body_size(const struct body *body)
{
	return body->made && !body->compressor ? body->plain.size : UINT64_MAX;
}

/* Fills plain, unless it has bytes left or all were made. false: that failed. */
static bool refill_plain(struct body *body)
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

/* The same for packed. */
static bool refill_packed(struct body *body)
{
	while (body->packed_taken == body->packed.size && !body->packed_all) {
		struct err *err = NULL;

		body->packed.size = body->packed_taken = 0;
		if (!refill_plain(body))
			return false;
		body->packed_all = body->taken == body->plain.size;
		if (body->packed_all)
			err = compressor_finish(body->compressor);
		else
			buf_put(compressor_input(body->compressor), body->plain.data + body->taken,
				body->plain.size - body->taken);
		body->taken = body->plain.size;
		if (!err)
			err = buf_finish(&body->packed);
		if (err) {
			err_destroy(err);
			body->failed = true;
			return false;
		}
	}
	return true;
}

static ssize_t take_bytes(const struct buf *from, size_t *taken, char *data, size_t size)
{
	size_t left = from->size - *taken;

	if (size > left)
		size = left;
	if (size)
		memcpy(data, from->data + *taken, size);
	*taken += size;
	return (ssize_t)size;
}

ssize_t body_read(struct body *body, char *data, size_t size)
{
	if (body->failed || !(body->compressor ? refill_packed(body) : refill_plain(body)))
		return -1;
	return body->compressor ? take_bytes(&body->packed, &body->packed_taken, data, size)
				: take_bytes(&body->plain, &body->taken, data, size);
}

static struct err *set_whole(struct reply *reply, unsigned int status, const char *type,
			     struct buf *buf)
{
	struct body *body;
	struct err *err = body_create_whole(buf, &body);

	if (err)
		return err;
	reply_deinit(reply);
	*reply = (struct reply){.status = status, .type = type, .body = body};
	return NULL;
}

struct err *reply_refuse(struct reply *reply, unsigned int status, const char *format, ...)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	auto_free char *text = NULL;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0) {
		text = NULL;
		return err_no_memory();
	}
	// One line, whatever the request holds.
	buf_shown(&buf, text, (size_t)length);
	buf_char(&buf, '\n');
	return set_whole(reply, status, "text/plain; charset=utf-8", &buf);
}

struct err *reply_refuse_err(struct reply *reply, struct err *err)
{
	struct err *refused;

	if (!err || err_number(err))
		return err;
	refused = reply_refuse(reply, MHD_HTTP_BAD_REQUEST, "%s", err_message(err));
	err_destroy(err);
	return refused;
}

struct err *reply_whole(struct reply *reply, struct buf *buf)
{
	return set_whole(reply, MHD_HTTP_OK, NULL, buf);
}

struct err *reply_pieces(struct reply *reply, body_make *make, void *state, body_drop *drop)
{
	struct body *body;
	struct err *err = body_create(make, state, drop, &body);

	if (err)
		return err;
	reply_deinit(reply);
	*reply = (struct reply){.status = MHD_HTTP_OK, .body = body};
	return NULL;
}

void reply_deinit(struct reply *reply)
{
	body_destroy(reply->body);
	*reply = (struct reply){0};
}
