/* What suppressions hid, as text. */
#ifndef MALLOW_REPORT_TEXT_SUPPRESSED_TEXT_H
#define MALLOW_REPORT_TEXT_SUPPRESSED_TEXT_H

#include "report/words/style.h"
#include "report/views/subject.h"

/* Writes a line of the summary: what the leaked bytes are without. */
void suppressed_text_summary(struct buf *buf, const struct style *style,
			     const struct suppressed *suppressed);

/* Writes a line for each suppression that hid something, and how many hid nothing. */
struct err *suppressed_text_write(struct buf *buf, const struct style *style,
				  const struct report_subject *subject);

#endif
