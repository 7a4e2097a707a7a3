/* A report of live allocations to be read: backtraces with their numbers, then a summary. */
#ifndef MALLOW_REPORT_TEXT_LIVE_TEXT_H
#define MALLOW_REPORT_TEXT_LIVE_TEXT_H

#include "report/live_view.h"
#include "report/style.h"

/* The whole report. The writing itself fails in buf. */
struct err *live_text_write(struct buf *buf, const struct style *style,
			    const struct live_view *view);

#endif
