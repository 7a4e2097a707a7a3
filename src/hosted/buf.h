/*
 * Builds text or bytes, in memory or streamed to a file. Failure is sticky: after the first one
 * everything is ignored, and buf_finish() returns it; so thirty fields need one check.
 *
 *	struct buf buf;
 *	buf_init_fd(&buf, STDOUT_FILENO, "standard output");
 *	buf_printf(&buf, "%d\n", 1);
 *	err = buf_finish(&buf);
 *	buf_deinit(&buf);
 */
#ifndef MALLOW_HOSTED_BUF_H
#define MALLOW_HOSTED_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "hosted/err.h"

/* Writes all of data somewhere; 0, or an errno. */
typedef int buf_sink(void *argument, const void *data, size_t size);

struct buf {
	char *data; /* size bytes; without a final NUL, see buf_string() */
	size_t size;
	size_t capacity;
	buf_sink *sink; /* NULL: kept in memory */
	void *argument;
	const char *name;
	int fd;
	int failure;      /* errno, 0: none */
	bool sink_failed; /* the failure is the sink's */
};

/* In memory. BUF_EMPTY does the same where the variable is declared. */
#define BUF_EMPTY ((struct buf){.fd = -1})
void buf_init(struct buf *buf);
/*
 * To a descriptor as buffers fill; it stays the caller's. The struct must not move afterwards.
 * name is for messages, and borrowed.
 */
void buf_init_fd(struct buf *buf, int fd, const char *name);
void buf_init_sink(struct buf *buf, buf_sink *sink, void *argument, const char *name);
/* Frees the memory; what was not flushed is dropped. Accepts a zeroed struct. */
void buf_deinit(struct buf *buf);

void buf_put(struct buf *buf, const void *data, size_t size);
void buf_char(struct buf *buf, char c);
void buf_text(struct buf *buf, const char *text);
void buf_u64(struct buf *buf, uint64_t value);
void buf_hex(struct buf *buf, uint64_t value); /* lower case, without 0x */
/* Its digits, at most 16, into the chars that end before end; returns the first one. */
char *buf_hex_digits(char *end, uint64_t value);
void buf_repeat(struct buf *buf, char c, size_t count);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Room for so many bytes behind those that are there, for the caller to write into and to add to
 * size, before anything else is put. NULL: a failure.
 */
void *buf_room(struct buf *buf, size_t size);

/* Hands everything on to the sink, if there is one, and returns the first failure so far. */
struct err *buf_finish(struct buf *buf);

/* The bytes so far with a NUL behind them, valid until the next call. In memory only.
 * NULL after a failure. */
const char *buf_string(struct buf *buf);
/* As buf_string(), but the caller owns it (free()); the builder is empty again. */
char *buf_take(struct buf *buf);

#endif
