/* Which modules of a report have no symbols: what to install so that frames get names. */
#ifndef MALLOW_REPORT_NAMELESS_H
#define MALLOW_REPORT_NAMELESS_H

#include "analysis/names/symbolized.h"
#include "report/style.h"

/*
 * One line that names the modules of several nameless frames in the stacks of the first count
 * sites of order; nothing if every module has names. The writing itself fails in buf.
 */
struct err *nameless_write(struct buf *buf, const struct style *style,
			   const struct recording *recording, struct symbolized *symbolized,
			   const uint32_t *order, uint32_t count);

#endif
