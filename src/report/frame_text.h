/*
 * A frame as one line of text: the function, where it is, and what it is, made to fit the
 * terminal.
 */
#ifndef MALLOW_REPORT_FRAME_TEXT_H
#define MALLOW_REPORT_FRAME_TEXT_H

#include "analysis/names/symbolized.h"
#include "report/style.h"

/*
 * "function  file:line  [module]  (inlined)", behind what stands in the first column columns of
 * the line; repeated above 1 adds "x repeated". With style->offsets "function +0x1b" and
 * "[libfoo.so] +0x1a2b", but for what was inlined. Without newline.
 */
void frame_text_line(struct buf *buf, const struct style *style, const struct named_frame *frame,
		     size_t column, unsigned repeated);

/* Code that every program runs before main, or a thread before its function. */
bool frame_text_is_startup(const struct named_frame *frame);

/* Both would give the same line. */
bool frame_text_same(const struct named_frame *a, const struct named_frame *b);

#endif
