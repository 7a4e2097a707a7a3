/* Makes the chunks that finishing adds: symbols, index, curve, unseen. docs/trace-format.md,
 * section 9. */
#ifndef MALLOW_FINISH_FINISH_EXTRA_H
#define MALLOW_FINISH_FINISH_EXTRA_H

#include "finish/finish.h"
#include "hosted/buf.h"
#include "trace/format.h"

/*
 * Appends a chunk with that payload to out. It is compressed if that saves a page and compress
 * allows it.
 */
struct err *finish_extra_put(struct buf *out, enum trace_chunk_kind kind, const void *data,
			     size_t size, enum finish_compress compress);

/* Appends the symbols, index, curve and unseen chunks of a loaded recording. */
struct err *finish_extra_make(struct buf *out, const struct recording *recording,
			      struct symbolized *symbolized, enum finish_compress compress,
			      recording_progress *progress, void *argument);

#endif
