/* A stack as text: a line for each function, innermost first. */
#ifndef MALLOW_REPORT_TEXT_TEXT_STACK_H
#define MALLOW_REPORT_TEXT_TEXT_STACK_H

#include "analysis/names/symbolized.h"
#include "report/words/style.h"

/* Functions that the text above the stacks names. They are shown wherever a stack has them. */
#define STACK_NAMED_MAX 16

struct stack_named {
	const char *functions[STACK_NAMED_MAX];
	unsigned count;
};

/* Adds the function of a frame. NULL: none. What is beyond STACK_NAMED_MAX is not added. */
void stack_named_add(struct stack_named *named, const struct named_frame *frame);

/*
 * Writes the frames from node outwards, indented. Unless style->full, code that runs before main is
 * left out, a line that repeats (recursion) is written once with its number, and only both ends of
 * a very deep stack are shown. A run of plumbing (struct named_frame) becomes one line: its
 * outermost frame, and how many frames the line stands for. That frame is what own code called; at
 * the outer end of a stack, it is what led to own code. A stack that is all plumbing is not folded.
 *
 * most: how many lines there are at most, 2 or more; 0: as many as a very deep stack has. The
 * innermost and the outermost own frame and the functions of `named` (NULL: none) are written even
 * if they need more lines.
 */
struct err *text_stack_write(struct buf *buf, const struct style *style,
			     const struct recording *recording, struct symbolized *symbolized,
			     uint32_t node, unsigned indent, unsigned most,
			     const struct stack_named *named);

#endif
