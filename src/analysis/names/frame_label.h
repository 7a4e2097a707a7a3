/*
 * The label of a frame in all stack formats:
 *
 *	function                  in the program itself
 *	function [libfoo.so]      in another module
 *	function [app.py:17]      of a script
 *	[libfoo.so]+0x1a2b        without a symbol
 *	[truncated], 0x7f12…      no code, or code in no module
 *
 * ';' becomes ':', and control characters become blanks, because formats use them as separators.
 */
#ifndef MALLOW_ANALYSIS_NAMES_FRAME_LABEL_H
#define MALLOW_ANALYSIS_NAMES_FRAME_LABEL_H

#include "analysis/names/symbolized.h"
#include "hosted/buf.h"

void frame_label(struct buf *buf, const struct named_frame *frame);

/* The same of the function as a whole: "function [app.py]". */
void frame_label_of_function(struct buf *buf, const struct named_frame *frame);

/* Writes a text as it would be in a label. */
void frame_label_text(struct buf *buf, const char *text);

#endif
