/* The inside of struct own_functions: for the two files that make and ask it. */
#ifndef MALLOW_ANALYSIS_FINDINGS_OWN_FUNCTIONS_DATA_H
#define MALLOW_ANALYSIS_FINDINGS_OWN_FUNCTIONS_DATA_H

#include "analysis/findings/own_functions.h"
#include "hosted/intern.h"
#include "hosted/map.h"
#include "hosted/vec.h"

#define FUNCTION_NONE UINT32_MAX

struct function {
	const char *name; /* interned */
	const struct named_frame *frame;
	bool own;
	/*
	 * While one is picked. At most: values of nodes, too high if it calls itself. Below: exact,
	 * of those for which it is looked for. The outermost frame of it in a stack counts.
	 */
	uint64_t at_most, below;
	uint64_t called;    /* values of stacks that are called after it */
	uint64_t outermost; /* of `below`: no own function is outside of it */
	double depth;       /* the sum of values times depths */
};

/* The functions of the lines of a frame: FUNCTION_NONE for a line that is not own code. */
struct lines {
	uint32_t first, count; /* count 0: not known yet */
	bool starts;           /* Rust's code that calls a program's main is in it */
};

struct own_functions {
	struct symbolized *symbolized;
	const struct site *sites;
	uint32_t site_count;
	const struct stack_node *nodes; /* a parent stands before its children */
	uint32_t node_count;
	struct intern names;
	struct map numbers; /* from a name's address to the number of its function */
	VEC(struct function) functions;
	struct lines *frames;
	VEC(uint32_t) lines; /* of all frames */
	uint32_t *named;     /* for each site; NULL: not made yet */
	/* For each node: the values of all stacks that it is in; which candidates are in its stack.
	 */
	uint64_t *values, *candidates;
	/*
	 * For each node: the innermost node of its stack that the function `marked` is in, and the
	 * one right inside of that, or itself. RECORDING_NONE: the function is not in its stack.
	 */
	uint32_t *in, *inside;
	uint32_t marked;
};

/* *ret: the functions of a node's lines, innermost first. */
struct err *own_functions_lines(struct own_functions *functions, uint32_t node,
				const uint32_t **ret, uint32_t *count);

/* Sets frame, stack, lines and call of a picked function, whose other members are set. */
struct err *own_functions_show(struct own_functions *functions, const uint64_t *values,
			       struct picked_function *ret);

#endif
