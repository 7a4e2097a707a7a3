/* `mallow diff` as text: one page says what changed, and where. */
#ifndef MALLOW_REPORT_TEXT_DIFF_TEXT_H
#define MALLOW_REPORT_TEXT_DIFF_TEXT_H

#include "report/views/diff_view.h"
#include "report/words/style.h"

/* The only error: no memory. */
struct err *diff_text_write(struct buf *buf, const struct style *style,
			    const struct diff_view *view);

#endif
