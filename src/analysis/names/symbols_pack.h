/* Writes the section that symbols_section.h reads. */
#ifndef MALLOW_ANALYSIS_NAMES_SYMBOLS_PACK_H
#define MALLOW_ANALYSIS_NAMES_SYMBOLS_PACK_H

#include "analysis/names/anonymous.h"
#include "analysis/names/symbolized.h"
#include "hosted/buf.h"

/*
 * Appends the names of all frames to ret, a buffer in memory, and why names are missing; nothing if
 * there is neither. What the recording has already is included, so finishing it twice loses none.
 */
struct err *symbols_pack(struct symbolized *symbolized, recording_progress *progress,
			 void *argument, struct buf *ret);

/* The same for the recording without what anonymous.h takes out of it. */
struct err *symbols_pack_anonymous(struct symbolized *symbolized, enum anonymity anonymity,
				   recording_progress *progress, void *argument, struct buf *ret);

#endif
