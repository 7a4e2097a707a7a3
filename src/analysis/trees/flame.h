/*
 * A flame graph that is as large as a screen, whatever the recording: the widest nodes of a call
 * tree, and beside them what was too narrow, as sums. Each node's own part, its children and its
 * rest add up to its value:
 *
 *	all 100
 *	├─ main 90           own 5
 *	│  ├─ parse 60
 *	│  ├─ read 20
 *	│  └╌ rest 5         of 3 children, each narrower than asked for
 *	└╌ rest 10
 */
#ifndef MALLOW_ANALYSIS_TREES_FLAME_H
#define MALLOW_ANALYSIS_TREES_FLAME_H

#include "analysis/diff/diff_tree.h"
#include "analysis/filter/filter.h"
#include "analysis/trees/tree.h"
#include "hosted/cleanup.h"

/* What widths mean. */
enum flame_metric {
	FLAME_PEAK,      /* bytes live when most were */
	FLAME_TOTAL,     /* bytes */
	FLAME_CALLS,     /* allocations */
	FLAME_TEMPORARY, /* allocations freed with no other by the same thread in between */
	FLAME_LEAKED,    /* bytes never freed */
	FLAME_SLACK,     /* bytes that the allocator made usable beyond those asked for */
	FLAME_BLOCKS,    /* blocks live when most bytes were */
	FLAME_METRICS,
};

struct flame_options {
	enum flame_metric metric;
	bool callers; /* a node's children are its callers; the root's are innermost frames */
	struct tree_shape shape;
	/*
	 * A node and its only child of 95 % or more are one node, named after both ends of the row.
	 * What else they had as children are children of that node.
	 */
	bool trunks;
	/*
	 * A label: the root is all places of it. Where it calls itself, the outermost one. Its
	 * children are what it called, or its callers. NULL: the root is all.
	 */
	const char *focus;
	const char *root; /* flame_node_id() of a node that becomes the root; NULL: none */
	uint64_t cut;     /* nodes narrower than 1 / cut of the root are left out; 0: none is */
	uint64_t most;    /* so many nodes, the widest; at least 1 */
	bool counts;      /* nodes have calls and temporary */
};

/* The blocks that a graph shows. */
struct flame_side {
	const struct recording *recording; /* opened with RECORDING_BLOCKS */
	const struct filter_match *match;  /* the blocks that count; NULL: all */
};

struct flame_name {
	const char *text;
	const struct named_frame *frame; /* of the innermost part of it; NULL: the root's */
};

struct flame_node {
	uint32_t parent;            /* index, lower than its own; RECORDING_NONE: the root */
	uint32_t name;              /* index */
	uint32_t folded;            /* how many frames it stands for, at most, in one stack */
	uint64_t value;             /* of the metric: its own, and all below it */
	uint64_t sides[DIFF_SIDES]; /* of a difference: what these stacks have on each side */
	uint64_t own;               /* of stacks that end here */
	uint64_t rest;              /* of children that were left out … */
	uint64_t more;              /* … and how many these are */
	uint64_t blocks; /* how many blocks (of a difference: of after) the value is of … */
	uint64_t leaked; /* … bytes of them that were never freed … */
	uint64_t age_ns; /* … and how long they lived on average; until the end if never freed */
	/* If asked for: of all matching blocks of its stacks, also where the metric counts few. */
	uint64_t calls, temporary;
	uint32_t tree_node, steps; /* for flame_node_id() */
};

struct flame {
	struct flame_node *nodes; /* nodes[0] is the root; the widest first */
	uint32_t count;
	struct flame_name *names;
	uint32_t name_count;
};

/*
 * symbolized: names of side->recording. *ret uses memory of it: destroy *ret first. The error says
 * what options->root should be.
 */
struct err *flame_create(const struct flame_side *side, struct symbolized *symbolized,
			 const struct flame_options *options, struct flame **ret);

/*
 * The same of a difference. Both sides have the same sites: one recording, or the sides of a diff.
 * Values are those of diff_shown(), stack by stack; stacks that show nothing are not in the graph,
 * and so in no node's sides. symbolized: names of the side after.
 */
struct err *flame_create_change(const struct flame_side sides[DIFF_SIDES], enum diff_show show,
				struct symbolized *symbolized, const struct flame_options *options,
				struct flame **ret);
/* Accepts NULL. */
void flame_destroy(struct flame *flame);
CLEANUP_DEFINE(struct flame *, flame_destroy);

#define FLAME_ID_SIZE 24
/*
 * Writes the text by which options->root knows a node, with a NUL. It stays the same with another
 * cut, and for any of the folds of trunks; not with other conditions or options.
 */
void flame_node_id(const struct flame_node *node, char text[FLAME_ID_SIZE]);

#endif
