/* `mallow report --by`: rows, with as many columns of sums as there is room for. */
#ifndef MALLOW_REPORT_TEXT_BREAKDOWN_TEXT_H
#define MALLOW_REPORT_TEXT_BREAKDOWN_TEXT_H

#include "report/views/breakdown_view.h"
#include "report/words/style.h"
#include "report/views/subject.h"

/* Writes the rows whose metric is not 0. Failures of writing are in buf. */
struct err *breakdown_text_write(struct buf *buf, const struct style *style,
				 const struct report_subject *subject,
				 const struct breakdown_view *view);

#endif
