/* Writes sealed chunks into a struct buf: docs/trace-format.md, sections 3 and 9. */
#ifndef MALLOW_WRITE_SEALED_CHUNK_H
#define MALLOW_WRITE_SEALED_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "hosted/buf.h"
#include "trace/format.h"

/*
 * The header that an events chunk will have in a finished file: sealed, and only as large as its
 * committed payload needs.
 */
struct trace_chunk sealed_chunk_trimmed(const struct trace_chunk *header);

/*
 * Appends a sealed chunk of that kind. Its payload is head and then rest; the other fields of its
 * header are those of like. Out of memory: buf fails.
 */
void sealed_chunk_put(struct buf *buf, enum trace_chunk_kind kind, const struct trace_chunk *like,
		      const void *head, size_t head_size, const void *rest, size_t rest_size);

#endif
