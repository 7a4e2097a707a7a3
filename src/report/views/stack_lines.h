/*
 * The lines of a stack that people read, innermost first:
 *
 *	frames                          lines
 *	operator new         plumbing   std::vector<char>::vector  … 3 frames
 *	allocate             plumbing
 *	std::vector::vector  plumbing
 *	Session::Session     own        Session::Session
 *	walk                 own        walk                       × 2
 *	walk                 own
 *	main                 own        main
 *	_start               start-up
 */
#ifndef MALLOW_REPORT_VIEWS_STACK_LINES_H
#define MALLOW_REPORT_VIEWS_STACK_LINES_H

#include "analysis/names/symbolized.h"
#include "hosted/vec.h"
#include "report/words/style.h"

struct stack_line {
	const struct named_frame *frame;
	uint32_t node;         /* that the frame is in */
	unsigned number, last; /* of that node, and of the outermost that the line stands for */
	unsigned repeated;     /* it stands there so often in a row */
	unsigned folded;       /* it stands for so many frames of plumbing; 0: for itself */
};

/* Zeroed: empty. Frames live as long as symbolized. */
struct stack_lines {
	VEC(struct stack_line) list;
};

void stack_lines_deinit(struct stack_lines *lines);

/*
 * Makes the lines of a stack into the empty *ret. style->full: one for each function. Otherwise
 * code that runs before main is left out, a line that repeats (recursion) stands there once, and so
 * does a run of plumbing: its outermost frame, which is the call that own code made, or that made
 * own code's. A stack of nothing but plumbing has no folded lines. Nodes have numbers from the
 * innermost on, which is 0.
 */
struct err *stack_lines_make(const struct style *style, struct symbolized *symbolized,
			     uint32_t node, struct stack_lines *ret);

/* How many frames a line stands for. */
static inline unsigned stack_line_frames(const struct stack_line *line)
{
	return line->folded ? line->folded : line->repeated;
}

/* Writes a line without newline (frame_text.h). column: how many columns are taken already. */
void stack_line_put(struct buf *buf, const struct style *style, const struct stack_line *line,
		    size_t column);

#endif
