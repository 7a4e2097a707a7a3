/* The answer of a route. */
#ifndef MALLOW_SERVER_HTTP_REPLY_H
#define MALLOW_SERVER_HTTP_REPLY_H

#include "server/http/body.h"

/* Zeroed: none yet. */
struct reply {
	unsigned int status; /* HTTP's */
	const char *type;    /* its content's type; NULL: the route's */
	bool packed;         /* is compressed already */
	bool small;          /* is there as a whole, and is to be as small as it gets */
	struct body *body;
};

/* Answers with a status and a line of text for the client. Returns NULL, or an error: no memory. */
struct err *reply_refuse(struct reply *reply, unsigned int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Takes ownership of err. An error about the request becomes a reply with status 400 and its
 * message. An error of the machine (err_number()) is returned, and so is NULL.
 */
struct err *reply_refuse_err(struct reply *reply, struct err *err);

/* Answers 200 with the bytes in buf, which is empty afterwards. */
struct err *reply_whole(struct reply *reply, struct buf *buf);

/* Answers 200 with what make makes: see body_create(). */
struct err *reply_pieces(struct reply *reply, body_make *make, void *state, body_drop *drop);

/* Accepts a zeroed struct. */
void reply_deinit(struct reply *reply);

#endif
