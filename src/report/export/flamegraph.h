/*
 * A flame graph as one SVG file that needs nothing else. It is a picture; in a browser it can be
 * zoomed and searched. Its script is flamegraph.js.
 */
#ifndef MALLOW_REPORT_EXPORT_FLAMEGRAPH_H
#define MALLOW_REPORT_EXPORT_FLAMEGRAPH_H

#include "analysis/diff/diff_tree.h"
#include "analysis/sites/metric.h"
#include "analysis/trees/tree.h"
#include "hosted/buf.h"

/*
 * Writes the graph, outermost frames at the top. Frames below 1/10,000 of the whole are left out:
 * their space stays empty, and the heading says how many they are. exact: as in format_bytes().
 */
struct err *flamegraph_write(struct buf *buf, const struct recording *recording,
			     const struct tree *tree, enum metric metric, bool exact);

/*
 * The same of both sides of a diff. Frames have the width of what the tree shows; orange grew, blue
 * fell, the fuller the larger a share of the whole that is; a frame whose change is that of one
 * that it called is grey. New frames have a strong edge, frames that are gone are hatched.
 * moments: for the title, the moment that a side shows, as typed; NULL: the whole run.
 */
struct err *flamegraph_write_diff(struct buf *buf, const struct diff *diff,
				  const struct diff_tree *tree, enum diff_show show,
				  enum metric metric, bool exact,
				  const char *const moments[DIFF_SIDES]);

#endif
