/*
 * All stacks of a recording as one tree, so that what two stacks have in common is kept once:
 *
 *	        main ─ run ─ load ─ parse        a stack is the number of its innermost node
 *	                 └── save
 *
 * A parent has a lower number than its children.
 */
#ifndef MALLOW_ANALYSIS_STACK_TRIE_H
#define MALLOW_ANALYSIS_STACK_TRIE_H

#include "analysis/recording.h"
#include "hosted/map.h"
#include "hosted/vec.h"

struct stack_trie {
	VEC(struct stack_node) nodes;
	struct map by_edge; /* parent and frame to node; empty after loading */
};

void stack_trie_deinit(struct stack_trie *trie);

/* The node of frame below parent (RECORDING_NONE: frame is outermost), made if it is new. */
struct err *stack_trie_insert(struct stack_trie *trie, uint32_t parent, uint32_t frame,
			      uint32_t *ret);

/*
 * Renames frames: frame f becomes frames[f]. Nodes that become equal become one; nodes[n]
 * receives the new number of node n. unique: the frames stay different from each other.
 * Afterwards nothing can be inserted.
 */
struct err *stack_trie_rename(struct stack_trie *trie, const uint32_t *frames, bool unique,
			      uint32_t *nodes);

#endif
