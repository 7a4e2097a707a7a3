/* The labels of a recording's frames, numbered: equal labels have equal numbers. For tree.c. */
#ifndef MALLOW_ANALYSIS_TREES_TREE_LABELS_H
#define MALLOW_ANALYSIS_TREES_TREE_LABELS_H

#include "analysis/names/symbolized.h"
#include "analysis/trees/tree.h"
#include "hosted/buf.h"
#include "hosted/intern.h"
#include "hosted/map.h"
#include "hosted/vec.h"

/* One line of a frame: an inlined function, or the function itself. */
struct label_line {
	const struct named_frame *frame;
	const char *label;
	uint32_t number;
};

struct tree_labels {
	struct symbolized *symbolized;
	enum tree_merge merge;
	struct intern *strings; /* the caller's: labels live there */
	struct buf buf;
	struct map numbers; /* from the address of an interned label to its number */
	VEC(struct label_line) lines;
	struct map first;     /* from a frame to the first of its lines */
	VEC(uint32_t) counts; /* by that index: how many lines the frame has */
};

void tree_labels_init(struct tree_labels *labels, struct symbolized *symbolized,
		      enum tree_merge merge, struct intern *strings);
void tree_labels_deinit(struct tree_labels *labels);

/* *ret: the lines of a frame, innermost first, valid until the next call. */
struct err *tree_labels_of(struct tree_labels *labels, uint32_t frame,
			   const struct label_line **ret, size_t *count);

#endif
