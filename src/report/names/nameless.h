/* Says which modules of a report have no symbols, and what to install so that frames get names. */
#ifndef MALLOW_REPORT_NAMES_NAMELESS_H
#define MALLOW_REPORT_NAMES_NAMELESS_H

#include "analysis/names/symbolized.h"
#include "report/words/style.h"

/*
 * Writes how many frames have no names. It looks at the stacks of the first sites in order (count
 * of them, and no more than a report usually shows). For each module with several such frames it
 * says what would name them: its package's debug symbols, or its build id; and what is wrong with
 * its file. Nothing if every module has names and no file is damaged. Failures of writing are in
 * buf.
 */
struct err *nameless_write(struct buf *buf, const struct style *style,
			   const struct recording *recording, struct symbolized *symbolized,
			   const uint32_t *order, uint32_t count);

#endif
