/*
 * The nodes of a call tree while it is made: what frames are called, finding a node's child, and
 * sorting children. For tree.c.
 */
#ifndef MALLOW_ANALYSIS_TREES_TREE_NODES_H
#define MALLOW_ANALYSIS_TREES_TREE_NODES_H

#include "analysis/names/symbolized.h"
#include "analysis/trees/tree.h"
#include "hosted/buf.h"
#include "hosted/intern.h"
#include "hosted/map.h"
#include "hosted/vec.h"

/* One line of a frame: an inlined function, or the function itself. */
struct label_line {
	const struct named_frame *frame;
	const char *label;
	uint32_t number;
};

/* The labels of frames, numbered: equal labels have equal numbers. */
struct tree_labels {
	struct symbolized *symbolized;
	enum tree_merge merge;
	struct intern *strings; /* the caller's: labels live there */
	struct buf buf;
	struct map numbers; /* from the address of an interned label to its number */
	VEC(struct label_line) lines;
	struct map first;     /* from a frame to the first of its lines */
	VEC(uint32_t) counts; /* by that index: how many lines the frame has */
};

/*
 * A node's first children are a list, in any order, and others are in the map: most nodes have one
 * or two, and most steps are to a new one. tree_nodes_link() replaces the lists.
 */
struct tree_nodes {
	VEC(struct tree_node) all; /* parents come before their children; [0] is the root */
	struct map children;       /* from parent and label number to node */
	struct tree_labels labels;
};

/* Makes the root. nodes: zeroed, but for what labels are made of. */
struct err *tree_nodes_begin(struct tree_nodes *nodes);
/* Accepts a zeroed struct. */
void tree_nodes_deinit(struct tree_nodes *nodes);

/* *ret: the lines of a frame, innermost first, valid until the next call. */
struct err *tree_nodes_lines(struct tree_nodes *nodes, uint32_t frame,
			     const struct label_line **ret, size_t *count);

/* *ret: the child of parent with the line's label, which is made if it is not there. */
struct err *tree_nodes_child(struct tree_nodes *nodes, uint32_t parent,
			     const struct label_line *line, uint32_t *ret);

/*
 * Links the children of each node, those with most value first. Nodes without a value are no
 * children. To be called when all values are set; no child can be found afterwards.
 */
struct err *tree_nodes_link(struct tree_nodes *nodes);

#endif
