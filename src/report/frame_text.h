/*
 * A frame as one line of text: the function, where it is, and what it is. Long C++ names are
 * folded before they are cut: parameters first, then template arguments, then the front.
 */
#ifndef MALLOW_REPORT_FRAME_TEXT_H
#define MALLOW_REPORT_FRAME_TEXT_H

#include "analysis/symbolized.h"
#include "report/style.h"

/* Name in at most width columns (0: as it is). Control characters become U+FFFD. */
void frame_text_name(struct buf *buf, const char *name, size_t width);

/*
 * "function  file:line  [module]  (inlined)", behind what stands in the first column columns of
 * the line; repeated above 1 adds "x repeated". Without newline.
 */
void frame_text_line(struct buf *buf, const struct style *style, const struct named_frame *frame,
		     size_t column, unsigned repeated);

/* Code that every program runs before main, or a thread before its function. */
bool frame_text_is_startup(const struct named_frame *frame);

/* Both would give the same line. */
bool frame_text_same(const struct named_frame *a, const struct named_frame *b);

#endif
