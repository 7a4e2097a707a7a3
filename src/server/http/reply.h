/*
 * The answer of a route, and its content: a body that is made piece by piece as the client takes
 * it, so that the JSON of ten million allocations is never in memory as a whole.
 */
#ifndef MALLOW_SERVER_HTTP_REPLY_H
#define MALLOW_SERVER_HTTP_REPLY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hosted/buf.h"

#define BODY_PIECE (64u << 10) /* roughly how much a maker should make at a time */

/* Appends the next piece to buf, a buffer in memory. *done: it was the last. */
typedef struct err *body_make(void *state, struct buf *buf, bool *done);
typedef void body_drop(void *state);

struct body;

/*
 * A body that make makes. The body owns state and frees it by drop; state is freed also if this
 * fails.
 */
struct err *body_create(body_make *make, void *state, body_drop *drop, struct body **ret);
/* A body of the bytes in buf, which is empty afterwards. */
struct err *body_create_whole(struct buf *buf, struct body **ret);
/* Accepts NULL. */
void body_destroy(struct body *body);

/* Compresses the body by gzip. To be called before the first body_read(). */
struct err *body_compress(struct body *body);

/*
 * The same of a body that is there as a whole (body_create_whole()): at once, and as small as it
 * gets.
 */
struct err *body_pack(struct body *body);

/* How many bytes the body has in all. UINT64_MAX: not known yet. */
uint64_t body_size(const struct body *body);

/*
 * Copies the next bytes, at most size, to data and returns how many. 0: that was all. Below 0:
 * making them failed.
 */
ssize_t body_read(struct body *body, char *data, size_t size);

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
