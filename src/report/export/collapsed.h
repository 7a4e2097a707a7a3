/* Collapsed stacks, as flamegraph.pl, speedscope and others read them: "root;...;leaf WEIGHT". */
#ifndef MALLOW_REPORT_EXPORT_COLLAPSED_H
#define MALLOW_REPORT_EXPORT_COLLAPSED_H

#include <stdbool.h>

#include "analysis/trees/tree.h"
#include "hosted/buf.h"

enum collapsed_form {
	COLLAPSED_LABELS, /* each frame by its label: frame_label.h */
	/*
	 * As clients of the REST API know it: each frame is "function [library]", also in the
	 * program itself. Without a symbol the function is an address, 0x%016X; without a library
	 * it is "???".
	 */
	COLLAPSED_LIBRARIES,
};

/*
 * Writes one line for each node of the tree that has a value of its own, outermost frame first.
 * Frames are labels.
 */
struct err *collapsed_write(struct buf *buf, const struct tree *tree);

/* The same in pieces. All lines together are much larger than the tree: each has a whole stack. */
struct collapsed;

/* The tree is borrowed. */
struct err *collapsed_create(const struct tree *tree, enum collapsed_form form,
			     struct collapsed **ret);
/* Accepts NULL. */
void collapsed_destroy(struct collapsed *collapsed);

/* Appends the next lines, about `size` bytes. *done: they were the last. */
struct err *collapsed_more(struct collapsed *collapsed, struct buf *buf, size_t size, bool *done);

#endif
