#include "server/http/reply.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "hosted/cleanup.h"

static struct err *set(struct reply *reply, unsigned int status, const char *type, struct buf *buf)
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
	return set(reply, status, "text/plain; charset=utf-8", &buf);
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
	return set(reply, MHD_HTTP_OK, NULL, buf);
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
