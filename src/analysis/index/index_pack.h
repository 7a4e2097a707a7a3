/*
 * Writes the index of a finished recording: all that was made from its events, but not the blocks.
 * So the recording opens without reading events. docs/trace-format.md, section "index".
 * index_read.h reads it.
 */
#ifndef MALLOW_ANALYSIS_INDEX_INDEX_PACK_H
#define MALLOW_ANALYSIS_INDEX_INDEX_PACK_H

#include "analysis/recording.h"
#include "hosted/buf.h"

/*
 * Appends the payload to ret, a buffer in memory, which has the other failures. Appends nothing if
 * the recording is still being written, or is damaged: its events must be read, and the damage
 * found, each time. The run facts are in it if they are known. The only error: no memory.
 */
struct err *index_pack(const struct recording *recording, struct buf *ret);

/* Appends the recording's heap errors, which are not in the index chunk: for an index file. */
void index_pack_errors(const struct recording *recording, struct buf *ret);

#endif
