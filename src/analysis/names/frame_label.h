/*
 * The label of a frame in all stack formats:
 *
 *	function                  in the program itself
 *	function [libfoo.so]      in another module
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

/* Writes a text as it would be in a label. */
void frame_label_text(struct buf *buf, const char *text);

#endif
