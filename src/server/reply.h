/* What a route answers with. */
#ifndef MALLOW_SERVER_REPLY_H
#define MALLOW_SERVER_REPLY_H

#include "server/body.h"

/* Zeroed: none yet. */
struct reply {
	unsigned int status; /* HTTP's */
	const char *type;    /* of its content; NULL: the route's */
	bool packed;         /* not to be compressed: it is already */
	struct body *body;
};

/* The status with a line of text for the client. Returns NULL, or that there is no memory. */
struct err *reply_refuse(struct reply *reply, unsigned int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Takes err. One about the request becomes 400 with its message, one of the machine (err_number())
 * is given back, and so is NULL.
 */
struct err *reply_refuse_err(struct reply *reply, struct err *err);

/* 200 with what is in buf, which is empty afterwards. */
struct err *reply_whole(struct reply *reply, struct buf *buf);

/* 200 with what make makes: see body_create(). */
struct err *reply_pieces(struct reply *reply, body_make *make, void *state, body_drop *drop);

/* Accepts a zeroed struct. */
void reply_deinit(struct reply *reply);

#endif
