/*
 * The lines that tell a recording in numbers: what `mallow run` prints at the end, and what
 * heads `mallow report`.
 */
#ifndef MALLOW_REPORT_SUMMARY_H
#define MALLOW_REPORT_SUMMARY_H

#include "analysis/recording.h"
#include "report/style.h"

enum summary_of {
	SUMMARY_OF_RUN,
	SUMMARY_OF_MOMENT, /* the recording is filtered by what was live then */
};

/*
 * Peak, leaked, total, temporary: one line each, two columns indented. Of a moment it is what was
 * live, and what of that is leaked.
 */
void summary_write(struct buf *buf, const struct style *style, const struct recording *recording,
		   enum summary_of of);

/*
 * Whether the recording is whole, and what is missing if not, one line each; nothing is written
 * for a complete one.
 */
void summary_write_gaps(struct buf *buf, const struct style *style,
			const struct recording *recording);

/* "exited with status 0", "was killed or crashed", "is still running", … */
const char *summary_end(const struct recording_facts *facts, struct buf *scratch);

#endif
