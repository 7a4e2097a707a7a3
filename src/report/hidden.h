/*
 * Memory that no number of a summary counts: blocks in the memory pools of the program's language.
 */
#ifndef MALLOW_REPORT_HIDDEN_H
#define MALLOW_REPORT_HIDDEN_H

#include "analysis/names/symbolized.h"
#include "report/style.h"

/*
 * Writes lines below those of summary_write(): how much memory such pools held, and that
 * --force-malloc shows what is in them. Nothing if there are none. symbolized NULL: pools that are
 * recognised by names of functions are left out. Failures of writing are in buf.
 */
struct err *hidden_write(struct buf *buf, const struct style *style,
			 const struct recording *recording, struct symbolized *symbolized);

#endif
