/* What no number of a summary counts: blocks in the pools of the program's language. */
#ifndef MALLOW_REPORT_HIDDEN_H
#define MALLOW_REPORT_HIDDEN_H

#include "analysis/names/symbolized.h"
#include "report/style.h"

/*
 * Further lines of summary_write(): how much memory such pools held, and that --force-malloc shows
 * what is in them. Nothing where there are none. symbolized: NULL leaves out those that are known
 * by names of functions. The writing itself fails in buf.
 */
struct err *hidden_write(struct buf *buf, const struct style *style,
			 const struct recording *recording, struct symbolized *symbolized);

#endif
