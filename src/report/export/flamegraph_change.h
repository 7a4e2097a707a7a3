/* How a differential flame graph shows the change of a frame: for flamegraph.c. */
#ifndef MALLOW_REPORT_EXPORT_FLAMEGRAPH_CHANGE_H
#define MALLOW_REPORT_EXPORT_FLAMEGRAPH_CHANGE_H

#include "analysis/diff/diff_tree.h"
#include "hosted/buf.h"

/* Zeroed: empty. */
struct flamegraph_change {
	const struct diff_tree *sides;
	uint64_t *
		inherited; /* the largest change of a node's children in its direction, as a size */
};

/* The only error: no memory. */
struct err *flamegraph_change_init(struct flamegraph_change *change, const struct diff_tree *sides);
void flamegraph_change_deinit(struct flamegraph_change *change);

/* How much more after has. */
int64_t flamegraph_change_of(const struct flamegraph_change *change, uint32_t node);

/* Writes the colour of a node. */
void flamegraph_change_colour(struct buf *buf, const struct flamegraph_change *change,
			      uint32_t node);

/* " new", " gone" or "": whether a node is on one side alone. */
const char *flamegraph_change_class(const struct flamegraph_change *change, uint32_t node);

#endif
