/*
 * Makes packed chunks: docs/trace-format.md, section 9.1. Payloads are compressed column by column.
 * If a payload is not made of whole records, all are compressed as one frame.
 */
#ifndef MALLOW_FINISH_FINISH_PACKED_H
#define MALLOW_FINISH_FINISH_PACKED_H

#include "hosted/buf.h"

/* A compressor with its memory. Belongs to one thread. */
struct finish_packed;

struct err *finish_packed_create(int level, struct finish_packed **ret);
/* Accepts NULL. */
void finish_packed_destroy(struct finish_packed *packed);

/*
 * Appends a packed chunk to out. headers: the events chunks' headers, at least one; payload: their
 * payloads, with COLUMNS_SLACK bytes of room behind them. Both are in memory.
 */
struct err *finish_packed_put(struct finish_packed *packed, const struct buf *headers,
			      const struct buf *payload, struct buf *out);

#endif
