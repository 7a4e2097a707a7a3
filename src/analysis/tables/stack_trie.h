/*
 * All stacks of a recording as one tree. What two stacks have in common is kept once:
 *
 *	        main ─ run ─ load ─ parse        a stack is the number of its innermost node
 *	                 └── save
 *
 * A parent has a lower number than its children.
 */
#ifndef MALLOW_ANALYSIS_TABLES_STACK_TRIE_H
#define MALLOW_ANALYSIS_TABLES_STACK_TRIE_H

#include "analysis/recording.h"
#include "base/compiler.h"
#include "hosted/map.h"
#include "hosted/vec.h"

/*
 * A node while the tree grows. Its children are a list, with the one asked for last in front: half
 * of all look-ups end there, and a quarter at the second. The nodes of a new path lie in memory in
 * the order in which it is walked. If a node has many children, the map has them, too.
 */
struct stack_step {
	uint32_t frame;
	uint32_t parent;
	uint32_t child;   /* the first child, 0: none */
	uint32_t sibling; /* the next child of the parent, 0: none */
};

struct stack_trie {
	VEC(struct stack_node) nodes; /* after stack_trie_show() */
	VEC(struct stack_step) steps; /* node n is step n + 1, step 0 is the root */
	VEC(uint8_t) many;            /* a bit for each step: its children are in by_edge */
	struct map by_edge;           /* from step and frame to the child's step */
};

void stack_trie_deinit(struct stack_trie *trie);

/*
 * *ret: the node of frame below parent; it is added if it is new. parent RECORDING_NONE: frame is
 * outermost.
 */
struct err *stack_trie_insert_slow(struct stack_trie *trie, uint32_t parent, uint32_t frame,
				   uint32_t *ret);

static inline struct err *stack_trie_insert(struct stack_trie *trie, uint32_t parent,
					    uint32_t frame, uint32_t *ret)
{
	const struct stack_step *steps = trie->steps.items;
	uint32_t child = likely(steps) ? steps[(uint32_t)(parent + 1)].child : 0;

	if (child && steps[child].frame == frame) {
		*ret = child - 1;
		return NULL;
	}
	return stack_trie_insert_slow(trie, parent, frame, ret);
}

/* Makes `nodes`, of all that was inserted so far. */
struct err *stack_trie_show(struct stack_trie *trie);

/* The same for the last time: nothing can be inserted any more. */
struct err *stack_trie_finish(struct stack_trie *trie);

#endif
