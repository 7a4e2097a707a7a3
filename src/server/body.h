/*
 * What a reply consists of, made piece by piece as the client takes it, so that the JSON of ten
 * million allocations is never in memory as a whole.
 */
#ifndef MALLOW_SERVER_BODY_H
#define MALLOW_SERVER_BODY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hosted/buf.h"

#define BODY_PIECE (64u << 10) /* what a maker should make at a time, roughly */

/* Puts the next piece into buf, which is in memory; *done: it was the last. */
typedef struct err *body_make(void *state, struct buf *buf, bool *done);
typedef void body_drop(void *state);

struct body;

/* Takes the state, also where it fails. drop: frees it. */
struct err *body_create(body_make *make, void *state, body_drop *drop, struct body **ret);
/* What is in buf already, which is empty afterwards. */
struct err *body_create_whole(struct buf *buf, struct body **ret);
/* Accepts NULL. */
void body_destroy(struct body *body);

/* From now on its bytes come compressed, as gzip. Before the first body_read(). */
struct err *body_compress(struct body *body);

/* How many bytes it will be in all, UINT64_MAX: not known yet. */
uint64_t body_size(const struct body *body);

/* The next bytes, up to size of them; 0: that was all, below 0: it cannot be gone on with. */
ssize_t body_read(struct body *body, char *data, size_t size);

#endif
