/* A report of live allocations as text: backtraces with their numbers, then a summary. */
#ifndef MALLOW_REPORT_TEXT_LIVE_TEXT_H
#define MALLOW_REPORT_TEXT_LIVE_TEXT_H

#include "report/views/live_view.h"
#include "report/words/style.h"

/* Writes the whole report. Failures of writing are in buf. */
struct err *live_text_write(struct buf *buf, const struct style *style,
			    const struct live_view *view);

#endif
