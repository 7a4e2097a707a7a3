/* The nodes of a call tree while it is made: finding a node's child, and sorting children. For
 * tree.c.
 */
#ifndef MALLOW_ANALYSIS_TREES_TREE_NODES_H
#define MALLOW_ANALYSIS_TREES_TREE_NODES_H

#include "analysis/trees/tree.h"
#include "analysis/trees/tree_labels.h"
#include "hosted/map.h"
#include "hosted/vec.h"

/*
 * A node's first children are a list, in any order, and others are in the map: most nodes have one
 * or two, and most steps are to a new one. tree_nodes_link() replaces the lists.
 */
struct tree_nodes {
	VEC(struct tree_node) all; /* parents come before their children; [0] is the root */
	struct map children;       /* from parent and label number to node */
};

/* Makes the root. nodes: zeroed. */
struct err *tree_nodes_begin(struct tree_nodes *nodes);
/* Accepts a zeroed struct. */
void tree_nodes_deinit(struct tree_nodes *nodes);

/* *ret: the child of parent with the line's label, which is made if it is not there. */
struct err *tree_nodes_child(struct tree_nodes *nodes, uint32_t parent,
			     const struct label_line *line, uint32_t *ret);

/*
 * Links the children of each node, those with most value first. Nodes without a value are no
 * children. To be called when all values are set; no child can be found afterwards.
 */
struct err *tree_nodes_link(struct tree_nodes *nodes);

#endif
