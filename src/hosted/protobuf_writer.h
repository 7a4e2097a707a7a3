/*
 * Messages of protocol buffers, field by field: https://protobuf.dev/programming-guides/encoding.
 * A message in another one is written into a buf of its own first, for its size stands before it:
 *
 *	protobuf_u64(&inner, 1, 5);
 *	protobuf_message(&outer, 2, &inner);    inner is empty again
 */
#ifndef MALLOW_HOSTED_PROTOBUF_WRITER_H
#define MALLOW_HOSTED_PROTOBUF_WRITER_H

#include "hosted/buf.h"

/* Any of the integer types but sint; int64 as two's complement. 0, the default, is not written. */
void protobuf_u64(struct buf *buf, uint32_t field, uint64_t value);
/* Strings and bytes; empty ones, too: in a list they count. */
void protobuf_text(struct buf *buf, uint32_t field, const char *text);
/* A list of integers, nothing where there are none. */
void protobuf_packed(struct buf *buf, uint32_t field, const uint64_t *values, size_t count);
/* The message in memory becomes a field, and inner is empty. A failure of inner goes to buf. */
void protobuf_message(struct buf *buf, uint32_t field, struct buf *inner);

#endif
