/*
 * A report of outstanding allocations as text, in the layout of bcc's memleak: the largest stack
 * stands last, next to the prompt.
 *
 *	[11:16:33] Top 2 stacks with outstanding allocations:
 *		addr = 948cd0 size = 16
 *		80 bytes in 5 allocations from stack
 *			main+0x6d [allocs]
 */
#ifndef MALLOW_REPORT_TEXT_MEMLEAK_TEXT_H
#define MALLOW_REPORT_TEXT_MEMLEAK_TEXT_H

#include "hosted/buf.h"
#include "report/views/memleak_view.h"

void memleak_text_write(struct buf *buf, const struct memleak_style *style,
			const struct memleak_view *view);

#endif
