/*
 * Picks the function that some bytes are for. The value of a node of the tree of stacks is the sum
 * of all stacks through it. So a function's value is that of the nodes in which it is met first,
 * seen from outside: one look over the nodes instead of one over each stack.
 */
#include <string.h>

#include "analysis/findings/own_functions.h"
#include "analysis/findings/own_functions_data.h"
#include "analysis/findings/percent.h"
#include "hosted/cleanup.h"

/* Candidates are looked at so many at a time: a bit for each. */
#define ROUND 64

/* A function explains the values if so many percent of them are below it. */
#define MOST 90

/* Sums up the values of nodes and of what stacks are called after. *all: of all stacks. */
static struct err *add_values(struct own_functions *functions, const uint64_t *values,
			      uint64_t *all)
{
	const uint32_t *named;
	uint32_t count;
	struct err *err = own_functions_named(functions, &named, &count);

	*all = 0;
	memset(functions->values, 0, functions->node_count * sizeof(*functions->values));
	for (size_t i = 0; i < functions->functions.count; i++) {
		struct function *function = &functions->functions.items[i];

		function->at_most = function->below = function->called = function->outermost = 0;
		function->depth = 0;
	}
	for (uint32_t i = 0; !err && i < functions->site_count; i++) {
		*all += values[i];
		if (named[i] != FUNCTION_NONE)
			functions->functions.items[named[i]].called += values[i];
		if (functions->sites[i].stack != RECORDING_NONE)
			functions->values[functions->sites[i].stack] += values[i];
	}
	for (uint32_t i = functions->node_count; !err && i-- > 0;)
		if (functions->nodes[i].parent != RECORDING_NONE)
			functions->values[functions->nodes[i].parent] += functions->values[i];
	return err;
}

/* The functions of a node's lines. *count 0: none of the values are of stacks through it. */
static struct err *lines_of(struct own_functions *functions, uint32_t node, const uint32_t **ret,
			    uint32_t *count)
{
	*count = 0;
	return functions->values[node] ? own_functions_lines(functions, node, ret, count) : NULL;
}

/* Finds at_most of all functions. */
static struct err *bound(struct own_functions *functions)
{
	for (uint32_t i = 0; i < functions->node_count; i++) {
		const uint32_t *lines;
		uint32_t count;
		struct err *err = lines_of(functions, i, &lines, &count);

		if (err)
			return err;
		for (uint32_t j = 0; j < count; j++)
			if (lines[j] != FUNCTION_NONE)
				functions->functions.items[lines[j]].at_most +=
					functions->values[i];
	}
	return NULL;
}

/* Adds a node to a candidate that is in its stack for the first time, seen from outside. */
static void add_node(const struct own_functions *functions, uint32_t node, uint32_t line,
		     uint32_t count, bool outermost, struct function *function)
{
	uint64_t value = functions->values[node];

	function->below += value;
	function->outermost += outermost ? value : 0;
	// An inlined function is deeper than the one that it is in.
	function->depth += (double)value * (functions->nodes[node].depth +
					    (double)(count - 1 - line) / (double)count);
}

/*
 * Finds the exact sums of the candidates numbers[]: at most ROUND. Bit ROUND - 1 of a node says
 * that its stack has any own function.
 */
static struct err *measure(struct own_functions *functions, const uint32_t *numbers,
			   uint32_t number_count, uint8_t *place_of)
{
	const uint64_t any = UINT64_C(1) << (ROUND - 1);

	for (uint32_t i = 0; i < number_count; i++)
		place_of[numbers[i]] = (uint8_t)(i + 1);
	for (uint32_t i = 0; i < functions->node_count; i++) {
		uint32_t parent = functions->nodes[i].parent, count;
		uint64_t set = parent == RECORDING_NONE ? 0 : functions->candidates[parent];
		const uint32_t *lines;
		struct err *err = lines_of(functions, i, &lines, &count);

		if (err)
			return err;
		for (uint32_t j = count; j-- > 0;) {
			uint8_t place = lines[j] == FUNCTION_NONE ? 0 : place_of[lines[j]];
			uint64_t bit = place ? UINT64_C(1) << (place - 1) : 0;

			if (bit & ~set)
				add_node(functions, i, j, count, !(set & any),
					 &functions->functions.items[lines[j]]);
			set |= bit | (lines[j] == FUNCTION_NONE ? 0 : any);
		}
		// What called Rust's start is the C main, and no function of the reader's. And what
		// a script's file calls is what main is elsewhere.
		if (functions->frames[functions->nodes[i].frame].starts)
			set &= ~any;
		functions->candidates[i] = set;
	}
	for (uint32_t i = 0; i < number_count; i++)
		place_of[numbers[i]] = 0;
	return NULL;
}

/* Measures all functions that nine tenths may be below. */
static struct err *measure_all(struct own_functions *functions, uint64_t all)
{
	auto_free uint8_t *place_of = NULL;
	uint32_t numbers[ROUND - 1], count = 0;
	struct err *err = bound(functions);

	if (!err)
		place_of = calloc(functions->functions.count + 1, 1);
	if (!err && !place_of)
		err = err_no_memory();
	for (uint32_t i = 0; !err && i < functions->functions.count; i++) {
		if (is_percent(functions->functions.items[i].at_most, all, MOST))
			numbers[count++] = i;
		if (count < ROUND - 1)
			continue;
		err = measure(functions, numbers, count, place_of);
		count = 0;
	}
	return err || !count ? err : measure(functions, numbers, count, place_of);
}

/* Whether nine tenths are below the function, and it is not merely everybody's caller. */
static bool explains(const struct function *function, uint64_t all)
{
	return function->below && is_percent(function->below, all, MOST) &&
	       (double)function->outermost * 2 < (double)function->below;
}

/* Whether a is deeper in the stacks than b. */
static bool is_deeper(const struct function *a, const struct function *b)
{
	return a->depth * (double)b->below > b->depth * (double)a->below;
}

static uint32_t choose(const struct own_functions *functions, uint64_t all, bool called,
		       bool *inclusive)
{
	const struct function *items = functions->functions.items;
	uint32_t deepest = FUNCTION_NONE, most = FUNCTION_NONE;

	for (uint32_t i = 0; i < functions->functions.count; i++) {
		if (!called && explains(&items[i], all) &&
		    (deepest == FUNCTION_NONE || is_deeper(&items[i], &items[deepest])))
			deepest = i;
		if (items[i].called &&
		    (most == FUNCTION_NONE || items[i].called > items[most].called))
			most = i;
	}
	*inclusive = deepest != FUNCTION_NONE;
	return deepest != FUNCTION_NONE ? deepest : most;
}

static struct err *pick(struct own_functions *functions, const uint64_t *values, bool called,
			struct picked_function *ret)
{
	struct picked_function picked = {.stack = RECORDING_NONE, .number = FUNCTION_NONE};
	struct err *err = add_values(functions, values, &picked.all);
	const struct function *function;

	if (!err && picked.all && !called)
		err = measure_all(functions, picked.all);
	if (!err)
		picked.number = choose(functions, picked.all, called, &picked.inclusive);
	if (err || picked.number == FUNCTION_NONE) {
		*ret = picked;
		return err;
	}
	function = &functions->functions.items[picked.number];
	picked.own = function->own;
	picked.value = picked.inclusive ? function->below : function->called;
	err = own_functions_show(functions, values, &picked);
	if (!err)
		*ret = picked;
	return err;
}

struct err *own_functions_pick(struct own_functions *functions, const uint64_t *values,
			       struct picked_function *ret)
{
	return pick(functions, values, false, ret);
}

struct err *own_functions_pick_called(struct own_functions *functions, const uint64_t *values,
				      struct picked_function *ret)
{
	return pick(functions, values, true, ret);
}
