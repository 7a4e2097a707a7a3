/*
 * The call tree of a recording for one metric: sites merged by the names of functions on their
 * stacks, outermost first. The text tree, the flame graph and collapsed stacks show it.
 */
#ifndef MALLOW_ANALYSIS_TREES_TREE_H
#define MALLOW_ANALYSIS_TREES_TREE_H

#include "analysis/names/symbolized.h"
#include "analysis/sites/metric.h"
#include "hosted/cleanup.h"

struct tree_node {
	const struct named_frame *frame; /* of the first stack that has this node; NULL: the root */
	const char *label;               /* the frame in all stack formats: names/frame_label.h */
	uint64_t value;                  /* the metric of this node and all below it */
	uint64_t self;                   /* the metric of sites that end here */
	uint64_t calls;                  /* allocations of this node and all below it */
	uint32_t parent;                 /* index; RECORDING_NONE: this is the root */
	uint32_t first_child, next_sibling; /* indices; by descending value, then label */
	bool several_lines; /* its stacks are also at other lines of the function than frame's */
	/* How many frames it stands for, at most, in one stack: of those that were folded; 0: one.
	 */
	uint32_t folded;
	uint32_t number; /* of the label: nodes with equal labels have equal numbers */
};

struct tree {
	struct tree_node *nodes; /* nodes[0] is the root */
	uint32_t count;
	uint32_t labels; /* numbers of labels are below this */
	/* For each site that it was made of its innermost node; RECORDING_NONE: it was left out. */
	const uint32_t *leaves;
};

enum tree_fold {
	TREE_WHOLE,
	/*
	 * A run of plumbing in a stack (struct named_frame) is one node: that of its outermost
	 * frame, the call that own code made. Stacks without own code are whole. What an
	 * interpreter does for a script's function belongs to that function, and all that an import
	 * statement calls to the statement.
	 */
	TREE_FOLDED,
};

enum tree_merge {
	TREE_BY_FUNCTION, /* labels are frame_label_of_function() */
	TREE_BY_LINE,     /* the same, and file and line behind it */
	/*
	 * The file, or the module's file; of a frame without one its label. Frames in a row that
	 * are of the same one are folded.
	 */
	TREE_BY_FILE,
	TREE_BY_MODULE,
	TREE_BY_LABEL, /* labels are frame_label(), as in stack formats */
};

struct tree_shape {
	enum tree_merge merge;
	bool plumbing; /* as TREE_FOLDED */
	/*
	 * Of each stack the part behind the first frame of a label, up to the last of that label,
	 * is cut out: "main a b a c" becomes "main a c".
	 */
	bool recursion;
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

/* The same in another shape. */
struct err *tree_create_shaped(const struct recording *recording, struct symbolized *symbolized,
			       const struct site *sites, uint32_t count, enum metric metric,
			       const struct tree_shape *shape, struct tree **ret);
void tree_destroy(struct tree *tree);
CLEANUP_DEFINE(struct tree *, tree_destroy);

#endif
