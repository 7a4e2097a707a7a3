/*
 * A frame as one line of text, made to fit the terminal: the function, and its place in the source.
 */
#ifndef MALLOW_REPORT_NAMES_FRAME_TEXT_H
#define MALLOW_REPORT_NAMES_FRAME_TEXT_H

#include "analysis/names/symbolized.h"
#include "report/words/style.h"

/*
 * Writes "function file:line [module] (inlined)", without newline. column: how many columns of the
 * line are taken already. repeated: how often the line stands there; above 1 adds "× repeated".
 * style->offsets: "function +0x1b", or "[libfoo.so] +0x1a2b" if the function has no name; not for
 * inlined functions.
 */
void frame_text_line(struct buf *buf, const struct style *style, const struct named_frame *frame,
		     size_t column, unsigned repeated);

/* Writes the line of a frame that stands for a run of so many: "std::make_shared<A>()  … 6 frames".
 */
void frame_text_folded(struct buf *buf, const struct style *style, const struct named_frame *frame,
		       size_t column, unsigned frames);

/* Whether this is code that every program runs before main, or every thread before its function. */
bool frame_text_is_startup(const struct named_frame *frame);

/*
 * Whether a frame that calls start-up code is start-up code by that: a stripped program's _start,
 * which has no name, and the C main of a Rust program.
 */
bool frame_text_calls_startup(const struct named_frame *frame, const struct named_frame *callee);

/* Whether both frames would give the same line. */
bool frame_text_same(const struct named_frame *a, const struct named_frame *b);

#endif
