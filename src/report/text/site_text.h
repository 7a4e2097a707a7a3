/* Sites as text, those of a whole recording or of a pool. */
#ifndef MALLOW_REPORT_TEXT_SITE_TEXT_H
#define MALLOW_REPORT_TEXT_SITE_TEXT_H

#include "analysis/names/symbolized.h"
#include "analysis/sites/metric.h"
#include "report/words/style.h"
#include "report/text/text_stack.h"

struct site_text {
	const struct site *sites;
	const uint32_t *order; /* indices of the sites that may be shown: site_order.h */
	uint32_t count;        /* of order */
	uint32_t top;          /* how many are shown at most; 0: all */
	enum metric metric;
	uint64_t whole;                  /* each site's share is of this */
	unsigned indent;                 /* columns */
	unsigned lines;                  /* of a stack, at most; 0: the usual (text_stack.h) */
	const struct stack_named *named; /* text_stack.h; NULL: none */
	bool of_moment;                  /* the sites are what was live at a moment */
};

/* How many sites are shown. */
uint32_t site_text_shown(const struct site_text *text);

/* Writes each site with its numbers and stack, and a line about those not shown. */
struct err *site_text_write(struct buf *buf, const struct style *style,
			    const struct recording *recording, struct symbolized *symbolized,
			    const struct site_text *text);

/* Writes one site in that way, numbered so. Of text, count, order and sites are not used. */
struct err *site_text_one(struct buf *buf, const struct style *style,
			  const struct recording *recording, struct symbolized *symbolized,
			  const struct site_text *text, const struct site *site, uint32_t number);

#endif
