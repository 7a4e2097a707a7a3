/* What suppressions hid, as text. */
#ifndef MALLOW_REPORT_TEXT_SUPPRESSED_TEXT_H
#define MALLOW_REPORT_TEXT_SUPPRESSED_TEXT_H

#include "report/style.h"
#include "report/subject.h"

/* A line of the summary: what the number of leaked bytes is without. */
void suppressed_text_summary(struct buf *buf, const struct style *style,
			     const struct suppressed *suppressed);

/* A line for each suppression that hid something, and how many did not. */
struct err *suppressed_text_write(struct buf *buf, const struct style *style,
				  const struct report_subject *subject);

#endif
