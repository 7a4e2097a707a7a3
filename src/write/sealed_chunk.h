/*
 * Sealed chunks, as bytes behind each other in a struct buf: docs/trace-format.md, sections 3
 * and 9.
 */
#ifndef MALLOW_WRITE_SEALED_CHUNK_H
#define MALLOW_WRITE_SEALED_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "hosted/buf.h"
#include "trace/format.h"

/*
 * The header of an events chunk as it will stand in the finished file: sealed, and as small as
 * what is committed allows.
 */
struct trace_chunk sealed_chunk_trimmed(const struct trace_chunk *header);

/* A sealed chunk of kind kind whose payload comes in two pieces; other fields as in like. */
void sealed_chunk_put(struct buf *buf, enum trace_chunk_kind kind, const struct trace_chunk *like,
		      const void *head, size_t head_size, const void *rest, size_t rest_size);

#endif
