/* Collapsed stacks, what flamegraph.pl, speedscope and others read: "root;...;leaf WEIGHT". */
#ifndef MALLOW_REPORT_EXPORT_COLLAPSED_H
#define MALLOW_REPORT_EXPORT_COLLAPSED_H

#include "analysis/trees/tree.h"
#include "hosted/buf.h"

/* One line for each node of the tree that has a value of its own, outermost frame first. */
struct err *collapsed_write(struct buf *buf, const struct tree *tree);

/*
 * The same as clients of the REST API know it: every frame is "function [library]", also those of
 * the program; an address as 0x%016X without a symbol, "???" for no library.
 */
struct err *collapsed_write_libraries(struct buf *buf, const struct tree *tree);

#endif
