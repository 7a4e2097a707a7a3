/*
 * Builds text or bytes, in memory or streamed to a file. Failure is sticky: after the first one all
 * writes are ignored, and buf_finish() returns it. So thirty fields need one check.
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

/* Writes all of data somewhere. Returns 0 or an errno. */
typedef int buf_sink(void *argument, const void *data, size_t size);

struct buf {
	char *data; /* size bytes; without a final NUL, see buf_string() */
	size_t size;
	size_t capacity;
	buf_sink *sink; /* NULL: all bytes stay in memory */
	void *argument;
	const char *name;
	int fd;
	int failure;      /* errno, 0: none */
	bool sink_failed; /* the sink failed, not memory */
	/*
	 * A text for people. No hidden character (base/shown_text.h) gets out, whatever is written,
	 * except newlines, tabs and colours. And no line begins with a colon, as GitHub's commands
	 * do. Set after buf_init…(). This is a second line of defence: texts of strangers go
	 * through buf_shown(), which also escapes their newlines.
	 */
	bool shown;
	bool line_begun; /* shown: the last line has something besides blanks */
};

/* A buffer in memory. BUF_EMPTY initialises a variable where it is declared. */
#define BUF_EMPTY ((struct buf){.fd = -1})
void buf_init(struct buf *buf);
/*
 * Writes to a descriptor, or to a sink, whenever the buffer is full. The descriptor stays the
 * caller's. After buf_init_fd() the struct must not move. name is for messages, and borrowed.
 */
void buf_init_fd(struct buf *buf, int fd, const char *name);
void buf_init_sink(struct buf *buf, buf_sink *sink, void *argument, const char *name);
/* Frees the memory. What was not written yet is dropped. Accepts a zeroed struct. */
void buf_deinit(struct buf *buf);

void buf_put(struct buf *buf, const void *data, size_t size);
/* Writes what another buffer in memory holds; if that failed, this one has failed, too. */
void buf_append(struct buf *buf, const struct buf *from);
void buf_char(struct buf *buf, char c);
void buf_text(struct buf *buf, const char *text);
/* Writes a text of a stranger in one line: its hidden characters become \xNN. */
void buf_shown(struct buf *buf, const char *text, size_t size);
void buf_u64(struct buf *buf, uint64_t value);
void buf_varint(struct buf *buf, uint64_t value); /* base/varint.h */
void buf_hex(struct buf *buf, uint64_t value);    /* lower case, without 0x */
/* Writes the bytes in hexadecimal (base/hex.h). */
void buf_hex_bytes(struct buf *buf, const uint8_t *bytes, size_t size);
/* Writes the digits, at most 16, so that they end right before `end`. Returns the first one. */
char *buf_hex_digits(char *end, uint64_t value);
void buf_repeat(struct buf *buf, char c, size_t count);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Returns room for size more bytes. The caller writes there, and adds to buf->size how many bytes
 * it wrote, before any other call. NULL: failed, now or before.
 */
void *buf_room(struct buf *buf, size_t size);

/*
 * Writes everything to the sink, if there is one. Returns the first failure so far, which the
 * caller owns; NULL: none.
 */
struct err *buf_finish(struct buf *buf);

/*
 * The bytes so far, with a NUL at the end; valid until the next call. For buffers in memory only.
 * NULL: failed, now or before.
 */
const char *buf_string(struct buf *buf);
/* As buf_string(), but the caller owns the result (free()), and the buffer is empty again. */
char *buf_take(struct buf *buf);

#endif
