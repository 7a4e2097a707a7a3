/*
 * The curve of a finished recording: its whole run in at most SERIES_STORED_STEPS steps, by fate,
 * as it stands in the file. So what a viewer draws first needs no event. docs/trace-format.md,
 * section 9.5.
 */
#ifndef MALLOW_ANALYSIS_VIEWS_SERIES_STORED_H
#define MALLOW_ANALYSIS_VIEWS_SERIES_STORED_H

#include "analysis/facts/facts_curve.h"
#include "analysis/views/series.h"
#include "hosted/buf.h"

#define SERIES_STORED_STEPS FACTS_CELLS

/* Smaller recordings have none: their events are read in no time. */
#define SERIES_STORED_FROM 50000u /* blocks */

/* A block that lived so long or longer was freed late: in the stored curve, and by default. */
static inline uint64_t series_late_ns(const struct recording_facts *facts)
{
	return facts->duration_ns / 10;
}

/*
 * Makes the curve of what was noted while events were read (RECORDING_CURVE), for the recording to
 * keep: finishing stores it. Does nothing if that was not asked for, if there are few blocks, or if
 * the recording is being written or damaged. The only error: no memory.
 */
struct err *series_keep(struct recording *recording);

/* The curve as bytes: that which is kept, else that in the file. NULL: there is none. */
const uint8_t *series_stored_bytes(const struct recording *recording, size_t *size);

/*
 * *ret: the curve in the recording's file; NULL: it has none, or that is wrong or of other events.
 * At the ends of its steps it says what series_create() would, but for events in the same
 * nanosecond, and that a block may count as freed late if it lived for a step less or more. The
 * only error: no memory.
 */
struct err *series_read_stored(const struct recording *recording, struct series **ret);

#endif
