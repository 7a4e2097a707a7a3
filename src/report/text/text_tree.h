/* The call tree as text, outermost first. */
#ifndef MALLOW_REPORT_TEXT_TEXT_TREE_H
#define MALLOW_REPORT_TEXT_TEXT_TREE_H

#include "report/words/style.h"
#include "report/views/subject.h"

/*
 * Writes the tree. Unless style->full, branches below 1 % of the whole, and those beyond the first
 * top (0: any number) of a node, become one line that says how many they are. A chain of single
 * calls is not indented, so deep programs stay within the terminal.
 */
struct err *text_tree_write(struct buf *buf, const struct style *style,
			    const struct report_subject *subject, enum metric metric, uint32_t top);

#endif
