/* The head of a diff as text: what is compared, and two sentences that are the answer. */
#ifndef MALLOW_REPORT_TEXT_DIFF_HEAD_H
#define MALLOW_REPORT_TEXT_DIFF_HEAD_H

#include "report/views/diff_view.h"
#include "report/words/style.h"

/* view->functions is needed. */
void diff_head_write(struct buf *buf, const struct style *style, const struct diff_view *view);

#endif
