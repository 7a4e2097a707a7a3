/*
 * The call tree of a recording for one metric: sites merged by the named functions of their
 * stacks, outermost first. What the text tree, the flame graph and collapsed stacks show.
 */
#ifndef MALLOW_ANALYSIS_TREES_TREE_H
#define MALLOW_ANALYSIS_TREES_TREE_H

#include "analysis/names/symbolized.h"
#include "analysis/sites/metric.h"

struct tree_node {
	const struct named_frame *frame; /* of the first stack that came by; NULL: the root */
	const char *label; /* as every stack format writes a frame: contract in tree.c */
	uint64_t value;    /* of the metric, this node and all below it */
	uint64_t self;     /* of sites that end here */
	uint64_t calls;    /* allocations, this node and all below it */
	uint32_t parent;   /* index, RECORDING_NONE: the root */
	uint32_t first_child, next_sibling; /* indices, by descending value, then by label */
	bool several_lines; /* its stacks are at other lines of the function than frame is, too */
};

struct tree {
	struct tree_node *nodes; /* nodes[0] is the root */
	uint32_t count;
};

/* Sites whose metric is 0 are left out. *ret uses memory of symbolized: destroy it first. */
struct err *tree_create(const struct recording *recording, struct symbolized *symbolized,
			enum metric metric, struct tree **ret);

/*
 * The same with other sums: sites, count of them, are stacks of the recording and what is to be
 * shown of each, such as what some of their blocks come to. They need not outlive the call.
 */
struct err *tree_create_of_sites(const struct recording *recording, struct symbolized *symbolized,
				 const struct site *sites, uint32_t count, enum metric metric,
				 struct tree **ret);
void tree_destroy(struct tree *tree);

#endif
