/* What no number of blocks counts: the program's own mappings, blocks in hidden heaps
 * (hidden_heaps.h). */
#ifndef MALLOW_REPORT_NAMES_HIDDEN_H
#define MALLOW_REPORT_NAMES_HIDDEN_H

#include "analysis/names/symbolized.h"
#include "report/words/style.h"

/*
 * Writes further lines of a summary (summary_write()): how much the program mapped itself; how much
 * memory such heaps held, and that --force-malloc shows what is in them. Writes nothing if there is
 * none. symbolized NULL: heaps that only names of functions tell are left out. Failures of writing
 * are in buf.
 */
struct err *hidden_write(struct buf *buf, const struct style *style,
			 const struct recording *recording, struct symbolized *symbolized);

#endif
