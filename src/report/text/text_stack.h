/* One stack, a line for each function, innermost first. */
#ifndef MALLOW_REPORT_TEXT_TEXT_STACK_H
#define MALLOW_REPORT_TEXT_TEXT_STACK_H

#include "analysis/names/symbolized.h"
#include "report/style.h"

/*
 * The frames from the node outwards, indented. Unless style->full: code that runs before main is
 * left out, lines that repeat (recursion) stand once with their number, and of a stack that is
 * still very deep only both ends are shown.
 */
struct err *text_stack_write(struct buf *buf, const struct style *style,
			     const struct recording *recording, struct symbolized *symbolized,
			     uint32_t node, unsigned indent);

#endif
