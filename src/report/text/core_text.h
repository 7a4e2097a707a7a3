/*
 * A report of a core dump as text, in heapprof's layout: of each site its share of what is live,
 * its bytes, the size of each block, and its stack with the innermost frame first.
 *
 *	19% 10000 [1000, 2000, 3000, 1000, 3000]
 *	 0x843f234 myfunc  /my/file.c:12
 */
#ifndef MALLOW_REPORT_TEXT_CORE_TEXT_H
#define MALLOW_REPORT_TEXT_CORE_TEXT_H

#include "report/views/core_view.h"
#include "report/words/style.h"

struct err *core_text_write(struct buf *buf, const struct style *style,
			    const struct core_view *view);

#endif
