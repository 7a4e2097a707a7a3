/*
 * The nodes of a flame graph as groups of places in a call tree. For flame.c.
 *
 * An item is a place in the tree at which some stacks go on. A group is all items that were reached
 * by the same labels: a node of the graph.
 *
 *	callees    an item is a node of the tree; its children are the next items. Without a focus
 *	           each group is one item.
 *	callers    an item is a node of the tree, and the one from which the walk towards the root
 *	           began, whose sums it carries. Its parent is the next item.
 */
#ifndef MALLOW_ANALYSIS_TREES_FLAME_GROUPS_H
#define MALLOW_ANALYSIS_TREES_FLAME_GROUPS_H

#include "analysis/trees/flame_values.h"
#include "hosted/vec.h"

struct flame_item {
	uint32_t at;   /* callees: the last node of it; callers: the next one, 0: none is left */
	uint32_t from; /* whose sums it has */
};

struct flame_group {
	struct flame_value sums;
	uint64_t first;     /* index into items … */
	uint32_t items;     /* … and how many are its own */
	uint32_t parent;    /* for flame.c: node of the graph */
	uint32_t tree_node; /* of its first item the last node … */
	uint32_t from;      /* … and whose sums it has */
	uint32_t steps;     /* labels from the first group to it */
	uint32_t folded;    /* as in struct tree_node */
};

struct flame_groups {
	struct tree *tree;
	struct flame_value *own, *all; /* of each node of the tree: of stacks that end there; all */
	bool callers;
	const char *focus;
	VEC(struct flame_item) items;
	VEC(struct flame_group) children; /* of the group that is looked at */
	uint32_t *child_of_label; /* by number of a label: index into children + 1; 0: none */
};

/* Makes the tree and its sums. values: of each site of the recording. options are borrowed. */
struct err *flame_groups_init(struct flame_groups *groups, const struct recording *recording,
			      struct symbolized *symbolized, const struct flame_value *values,
			      const struct flame_options *options);
/* Accepts a zeroed struct. */
void flame_groups_deinit(struct flame_groups *groups);

/* Makes the first group: all stacks, or all places of the focus. group: zeroed. */
struct err *flame_groups_begin(struct flame_groups *groups, struct flame_group *group);

/*
 * Sets `children` to a group's children, without their items. *own: what ends in the group. Call
 * flame_groups_leave() before the next group, also after an error.
 */
struct err *flame_groups_find(struct flame_groups *groups, const struct flame_group *group,
			      uint64_t *own);
/* Gives items to those children of the group that are wanted. wanted: a flag for each. */
struct err *flame_groups_place(struct flame_groups *groups, const struct flame_group *group,
			       const bool *wanted);
void flame_groups_leave(struct flame_groups *groups);

/* Makes a group its child of that label. Without one it has no items afterwards. */
struct err *flame_groups_descend(struct flame_groups *groups, struct flame_group *group,
				 uint32_t number);

#endif
