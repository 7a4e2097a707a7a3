/*
 * The backtraces of a live report as text: lines of frames, with their numbers and addresses.
 *
 *	0 [0x555d28884606] normalise  tour.cpp:24  (inlined)
 *	                   index_file +0x25d  tour.cpp:45
 *	1 [0x555d28884b22] main +0x83  tour.cpp:56
 */
#ifndef MALLOW_REPORT_VIEWS_LIVE_FRAME_H
#define MALLOW_REPORT_VIEWS_LIVE_FRAME_H

#include "analysis/names/symbolized.h"
#include "report/views/stack_lines.h"

/* What stands for the frames of a backtrace that has none. */
#define LIVE_FRAME_NO_STACK "(no stack)\n"

/*
 * Makes the lines of a backtrace that are printed into the empty *ret: at most depth. With
 * style->full, those of the innermost frames, at most depth of them: functions that were inlined
 * into a frame have lines of their own.
 */
struct err *live_frame_lines(const struct style *style, struct symbolized *symbolized,
			     uint32_t stack, uint32_t depth, struct stack_lines *ret);

/*
 * Writes a line and its newline. The frame's number and address are left out if the line before is
 * of the same frame. before NULL: it is the first.
 */
void live_frame_put(struct buf *buf, const struct style *style, const struct recording *recording,
		    const struct stack_line *line, const struct stack_line *before);

#endif
