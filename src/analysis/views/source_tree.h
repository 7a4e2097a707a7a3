/*
 * A call tree whose nodes are places in the source, in the order of their first allocation. The
 * REST API's tree and ASCII tree show it. (tree.h is a tree of functions, sorted by value.)
 */
#ifndef MALLOW_ANALYSIS_VIEWS_SOURCE_TREE_H
#define MALLOW_ANALYSIS_VIEWS_SOURCE_TREE_H

#include "analysis/blocks/site_sums.h"
#include "analysis/names/symbolized.h"

struct source_node {
	uint32_t frame; /* of the first stack that has this node; RECORDING_NONE: the root … */
	uint32_t line;  /* … and which of its lines: symbolized_frame() */
	uint64_t size, calls; /* of this node and all below it */
	uint64_t first_ns, last_ns;
	uint32_t parent;                    /* RECORDING_NONE: the root */
	uint32_t first_child, next_sibling; /* in the order of their first allocation */
};

struct source_tree {
	struct source_node *nodes; /* nodes[0] is the root; parents come first */
	uint32_t count;
};

/*
 * Two frames are one place where file and line are the same, else the function, else the address.
 * sums: of the sites; those without calls are left out.
 */
struct err *source_tree_create(const struct recording *recording, struct symbolized *symbolized,
			       const struct site_sums *sums, struct source_tree **ret);
void source_tree_destroy(struct source_tree *tree);

#endif
