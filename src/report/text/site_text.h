/* Sites as text: of the whole recording, or of a pool. */
#ifndef MALLOW_REPORT_TEXT_SITE_TEXT_H
#define MALLOW_REPORT_TEXT_SITE_TEXT_H

#include "analysis/names/symbolized.h"
#include "analysis/sites/metric.h"
#include "report/style.h"

struct site_text {
	const struct site *sites;
	const uint32_t *order; /* indices of those that may be shown: site_order.h */
	uint32_t count;        /* of order */
	uint32_t top;          /* shown at most, 0: all */
	enum metric metric;
	uint64_t whole;  /* of which the metric of each is a share */
	unsigned indent; /* columns */
	bool of_moment;  /* they are what was live at a moment, which the peak stands for */
};

/* How many are shown. */
uint32_t site_text_shown(const struct site_text *text);

/* Each with its numbers and stack, and a line for those that are not shown. */
struct err *site_text_write(struct buf *buf, const struct style *style,
			    const struct recording *recording, struct symbolized *symbolized,
			    const struct site_text *text);

#endif
