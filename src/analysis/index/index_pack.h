/*
 * The index of a finished recording: all that its events come to, but for the blocks, so that it
 * opens without reading them. docs/trace-format.md, section "index". index_read.h reads it.
 */
#ifndef MALLOW_ANALYSIS_INDEX_INDEX_PACK_H
#define MALLOW_ANALYSIS_INDEX_INDEX_PACK_H

#include "analysis/recording.h"
#include "hosted/buf.h"

/*
 * Appends the payload to ret, a buffer in memory; failures are ret's. Nothing at all for a
 * recording that is still being written, or of which something is damaged: it is to be read, and
 * its damage found, each time.
 */
void index_pack(const struct recording *recording, struct buf *ret);

/* Its wrong frees, which the index chunk is without: for an index file. */
void index_pack_errors(const struct recording *recording, struct buf *ret);

#endif
