/*
 * A recording in numbers: the lines that `mallow run` prints at the end, and `mallow report` at its
 * head.
 */
#ifndef MALLOW_REPORT_VIEWS_SUMMARY_H
#define MALLOW_REPORT_VIEWS_SUMMARY_H

#include "analysis/names/symbolized.h"
#include "analysis/recording.h"
#include "report/words/style.h"

enum summary_of {
	SUMMARY_OF_RUN,
	SUMMARY_OF_MOMENT, /* the recording is filtered by alive_at */
};

/*
 * Writes peak, leaked, total and temporary, a line each, indented by two columns. For a moment:
 * what was live, and how much of that leaked.
 */
void summary_write(struct buf *buf, const struct style *style, const struct recording *recording,
		   enum summary_of of);

/*
 * Writes the same of a run in two lines, for a page: peak and allocations, what was never freed and
 * temporary. Pools have a line of their own.
 */
void summary_write_brief(struct buf *buf, const struct style *style,
			 const struct recording *recording);

/* Writes a line for each thing that is missing in the recording. Nothing if it is complete. */
void summary_write_gaps(struct buf *buf, const struct style *style,
			const struct recording *recording);

/*
 * Writes how the program ended: "exited with status 0", "cut short: killed or crashed", "still
 * running", …
 */
void summary_put_end(struct buf *buf, const struct recording_facts *facts);

/*
 * Writes further lines of a summary (summary_write()): how much the program mapped itself; how much
 * memory such heaps held, and that --force-malloc shows what is in them. Writes nothing if there is
 * none. symbolized NULL: heaps that only names of functions tell are left out. Failures of writing
 * are in buf.
 */
struct err *summary_write_hidden(struct buf *buf, const struct style *style,
				 const struct recording *recording, struct symbolized *symbolized);

#endif
