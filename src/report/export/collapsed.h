/* Collapsed stacks, as flamegraph.pl, speedscope and others read them: "root;...;leaf WEIGHT". */
#ifndef MALLOW_REPORT_EXPORT_COLLAPSED_H
#define MALLOW_REPORT_EXPORT_COLLAPSED_H

#include "analysis/trees/tree.h"
#include "hosted/buf.h"

/* Writes one line for each node of the tree that has a value of its own, outermost frame first. */
struct err *collapsed_write(struct buf *buf, const struct tree *tree);

/*
 * The same in the form that clients of the REST API know: each frame is "function [library]", also
 * in the program itself. Without a symbol the function is an address, 0x%016X; without a library it
 * is "???".
 */
struct err *collapsed_write_libraries(struct buf *buf, const struct tree *tree);

#endif
