/*
 * The call tree of a recording for one metric: sites merged by the names of functions on their
 * stacks, outermost first. The text tree, the flame graph and collapsed stacks show it.
 */
#ifndef MALLOW_ANALYSIS_TREES_TREE_H
#define MALLOW_ANALYSIS_TREES_TREE_H

#include "analysis/names/symbolized.h"
#include "analysis/sites/metric.h"

struct tree_node {
	const struct named_frame *frame; /* of the first stack that has this node; NULL: the root */
	const char *label;               /* the frame in all stack formats: names/frame_label.h */
	uint64_t value;                  /* the metric of this node and all below it */
	uint64_t self;                   /* the metric of sites that end here */
	uint64_t calls;                  /* allocations of this node and all below it */
	uint32_t parent;                 /* index; RECORDING_NONE: this is the root */
	uint32_t first_child, next_sibling; /* indices; by descending value, then label */
	bool several_lines; /* its stacks are also at other lines of the function than frame's */
	/* Of a run of plumbing: how many frames it stands for in the deepest stack; 0: one. */
	uint32_t folded;
};

struct tree {
	struct tree_node *nodes; /* nodes[0] is the root */
	uint32_t count;
};

enum tree_fold {
	TREE_WHOLE,
	/*
	 * A run of plumbing in a stack (struct named_frame) is one node: that of its outermost
	 * frame, the call that own code made. Stacks without own code are whole.
	 */
	TREE_FOLDED,
};

/*
 * Makes the tree. Sites whose metric is 0 are left out. *ret uses memory of symbolized: destroy the
 * tree first.
 */
struct err *tree_create(const struct recording *recording, struct symbolized *symbolized,
			enum metric metric, enum tree_fold fold, struct tree **ret);

/*
 * The same with other sums. sites: count stacks of the recording, and the sums to show for each,
 * for instance of some of its blocks. They need not outlive the call.
 */
struct err *tree_create_of_sites(const struct recording *recording, struct symbolized *symbolized,
				 const struct site *sites, uint32_t count, enum metric metric,
				 enum tree_fold fold, struct tree **ret);
void tree_destroy(struct tree *tree);

#endif
