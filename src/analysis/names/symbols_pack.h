/* Writes the section that symbols_section.h reads. */
#ifndef MALLOW_ANALYSIS_NAMES_SYMBOLS_PACK_H
#define MALLOW_ANALYSIS_NAMES_SYMBOLS_PACK_H

#include "analysis/names/symbolized.h"
#include "hosted/buf.h"

/*
 * Appends the names of all frames to ret, a buffer in memory; nothing if no frame has a name. Names
 * that the recording has already are included, so finishing it twice loses none.
 */
struct err *symbols_pack(struct symbolized *symbolized, recording_progress *progress,
			 void *argument, struct buf *ret);

#endif
