/* Which modules of a report have no symbols: what to install so that frames get names. */
#ifndef MALLOW_REPORT_NAMELESS_H
#define MALLOW_REPORT_NAMELESS_H

#include "analysis/names/symbolized.h"
#include "report/style.h"

/*
 * How many frames of the stacks of the first sites of order (count of them, and not more than a
 * report usually shows) have no names, and of each module with several of them what would name
 * these: its package's debug symbols, its build id, and what is wrong with its file, if anything
 * is. Nothing if every module has names and no file is damaged. The writing itself fails in buf.
 */
struct err *nameless_write(struct buf *buf, const struct style *style,
			   const struct recording *recording, struct symbolized *symbolized,
			   const uint32_t *order, uint32_t count);

#endif
