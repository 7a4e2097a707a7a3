/* `mallow report --mappings`: what the program mapped itself, as text. */
#ifndef MALLOW_REPORT_TEXT_MAPPINGS_TEXT_H
#define MALLOW_REPORT_TEXT_MAPPINGS_TEXT_H

#include "analysis/views/map_sites.h"
#include "report/text/text_report.h"

/* Writes sums by kind, and options->top sites in descending order of the metric. */
struct err *mappings_text_write(struct buf *buf, const struct style *style,
				const struct report_subject *subject,
				const struct text_report_options *options);

#endif
