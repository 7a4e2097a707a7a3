/* `mallow report --pools`: what the program's own pools hold, as text. */
#ifndef MALLOW_REPORT_TEXT_POOLS_TEXT_H
#define MALLOW_REPORT_TEXT_POOLS_TEXT_H

#include "report/text/text_report.h"

/*
 * Writes options->top pools in descending order of the metric, each with options->pool_sites of its
 * sites.
 */
struct err *pools_text_write(struct buf *buf, const struct style *style,
			     const struct recording *recording, struct symbolized *symbolized,
			     const struct text_report_options *options);

/* Writes a pool's name: "pool sessions", "pool at 0x1234". */
void pools_text_name(struct buf *buf, const struct recorded_pool *pool);

#endif
