/*
 * Writes messages of protocol buffers, field by field:
 * https://protobuf.dev/programming-guides/encoding. A message within another one is written into a
 * buf of its own first, because its size stands before it:
 *
 *	protobuf_u64(&inner, 1, 5);
 *	protobuf_message(&outer, 2, &inner);    inner is empty again
 */
#ifndef MALLOW_HOSTED_PROTOBUF_WRITER_H
#define MALLOW_HOSTED_PROTOBUF_WRITER_H

#include "hosted/buf.h"

/* Any integer type but sint; an int64 as two's complement. The default value, 0, is not written. */
void protobuf_u64(struct buf *buf, uint32_t field, uint64_t value);
/* A fixed64. 0 is not written. */
void protobuf_fixed64(struct buf *buf, uint32_t field, uint64_t value);
/* Strings and bytes. Empty ones are written, too: they count in a list. */
void protobuf_text(struct buf *buf, uint32_t field, const char *text);
/* A list of integers. An empty list is not written. */
void protobuf_packed(struct buf *buf, uint32_t field, const uint64_t *values, size_t count);
/*
 * Writes the message in inner as a field, and empties inner. A failure of inner becomes one of buf.
 */
void protobuf_message(struct buf *buf, uint32_t field, struct buf *inner);

#endif
