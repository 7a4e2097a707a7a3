/* Writes what symbols_section.h reads. */
#ifndef MALLOW_ANALYSIS_NAMES_SYMBOLS_PACK_H
#define MALLOW_ANALYSIS_NAMES_SYMBOLS_PACK_H

#include "analysis/names/symbolized.h"
#include "hosted/buf.h"

/*
 * Appends the names of all frames to ret, a buffer in memory; nothing at all where no frame has a
 * name. Those that the recording carries already are among them, so finishing twice loses none.
 */
struct err *symbols_pack(struct symbolized *symbolized, recording_progress *progress,
			 void *argument, struct buf *ret);

#endif
