/*
 * What has changed in a recording since the last look, as writes in an order that is safe for who
 * repeats them: docs/streaming.md, "What is sent, and in which order". Each receiver has its own.
 *
 *	changes_create(&source, &changes);
 *	changes_skip(changes, offset, size);            what the receiver has
 *	changes_look(changes, CHANGES_NOW, &sink);      now and then
 *	…
 *	changes_look(changes, CHANGES_LAST, &sink);     nobody writes the recording any more
 *
 *	changes.c        the header page; a live table: pages that differ
 *	chunk_changes.c  a recording of events: sealed chunks, slots
 */
#ifndef MALLOW_STREAM_SENDER_CHANGES_H
#define MALLOW_STREAM_SENDER_CHANGES_H

#include <stdint.h>

#include "hosted/err.h"
#include "trace/format.h"

struct changes;

struct changes_sink {
	/* To be written there; the bytes live until it returns. Its error ends the look. */
	struct err *(*put)(void *argument, uint64_t offset, const void *data, size_t size);
	/* The sealed chunk there has been put as a whole, or was skipped. */
	struct err *(*sealed)(void *argument, uint64_t offset, uint64_t size);
	void *argument;
};

enum changes_look { CHANGES_NOW, CHANGES_LAST };

/*
 * Reads the header. fd: open for reading, with a file offset that nobody else uses; borrowed. name:
 * for messages, borrowed.
 */
struct err *changes_create(int fd, const char *name, struct changes **ret);
/* Accepts NULL. */
void changes_destroy(struct changes *changes);

/* Sealed chunks in this range need not be put. In ascending order, before the first look. */
struct err *changes_skip(struct changes *changes, uint64_t offset, uint64_t size);

/* After an error of the sink it cannot be used any more. *changed: something was put. */
struct err *changes_look(struct changes *changes, enum changes_look which,
			 const struct changes_sink *sink, bool *changed);

/* The file's first page as it was at the last look, of which trace_header is the beginning. */
const struct trace_header *changes_header(const struct changes *changes);

/* The file's size as of the last look. */
uint64_t changes_size(const struct changes *changes);

#endif
