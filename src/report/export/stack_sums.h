/*
 * A call tree that has all sums of its stacks, not those of one metric: for formats that let their
 * reader choose what to count. And what such formats say of a frame, each frame once.
 *
 *	nodes      all ─┬─ main ─┬─ parse ─── read       own[read]    sums of the sites that end
 *there │        └─ read                 frame_of()   the same frame for both `read`
 */
#ifndef MALLOW_REPORT_EXPORT_STACK_SUMS_H
#define MALLOW_REPORT_EXPORT_STACK_SUMS_H

#include "analysis/trees/tree.h"
#include "hosted/json_writer.h"
#include "hosted/vec.h"

#define STACK_SUMS_NO_STACK "[no stack]" /* what formats call an empty stack */

/* A frame of any number of nodes: those with one label. */
struct stack_frame {
	const char *label;
	const struct named_frame *named; /* of the first of them */
	uint32_t line;                   /* 0: not known, or they are at several */
};

/* Zeroed: empty. */
struct stack_sums {
	struct tree *tree;
	struct site *own; /* for each node: the sums of the sites that end there */
	VEC(struct stack_frame) frames;
	uint32_t *frame_of_number; /* by number of a label */
};

/*
 * Sites without any sum are left out. shape: of the tree, where nodes of one function are one node
 * also if their lines differ, unless it is by line. *ret uses memory of symbolized.
 */
struct err *stack_sums_create(const struct recording *recording, struct symbolized *symbolized,
			      const struct tree_shape *shape, struct stack_sums *ret);
/* Accepts a zeroed struct. */
void stack_sums_deinit(struct stack_sums *sums);

/* The index in frames of a node's frame. node: not the root. */
static inline uint32_t stack_sums_frame(const struct stack_sums *sums, uint32_t node)
{
	return sums->frame_of_number[sums->tree->nodes[node].number];
}

/*
 * *ret: for each node one metric of it and of all below it, owned by the caller (free()). The only
 * error: no memory.
 */
struct err *stack_sums_values(const struct stack_sums *sums, enum metric metric, uint64_t **ret);

/*
 * What remains if only the `most` nodes with the largest values have a place, callers before what
 * they called. values: as above. *ret: for each node the one that stands for it, itself or the
 * nearest caller that remains; owned by the caller (free()). *folded: how many nodes with a value
 * do not remain. The only error: no memory.
 */
struct err *stack_sums_cut(const struct stack_sums *sums, const uint64_t *values, uint64_t most,
			   uint32_t **ret, uint32_t *folded);

/* What a frame is called that stands for all that --nodes left out below its caller. */
const char *stack_sums_folded_name(uint64_t nodes, char *text, size_t size);
#define STACK_SUMS_FOLDED_NAME 64

#endif
