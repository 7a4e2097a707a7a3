/* `mallow report --histogram`: how sizes or lifetimes are distributed, with bars. */
#ifndef MALLOW_REPORT_TEXT_HISTOGRAM_TEXT_H
#define MALLOW_REPORT_TEXT_HISTOGRAM_TEXT_H

#include "analysis/sums/histogram.h"
#include "report/words/style.h"

/* Writes a line for each class, with bars for its allocations and its bytes. */
struct err *histogram_text_write(struct buf *buf, const struct style *style,
				 const struct histogram *histogram);

#endif
