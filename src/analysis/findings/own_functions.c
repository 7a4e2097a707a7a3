#include "analysis/findings/own_functions.h"

#include <string.h>

#include "analysis/names/function_name.h"
#include "analysis/names/own_code.h"
#include "hosted/cleanup.h"
#include "hosted/intern.h"
#include "hosted/map.h"
#include "hosted/vec.h"

#define NONE UINT32_MAX

/* Candidates are looked at so many at a time: a bit for each. */
#define ROUND 64

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

/* The functions of the lines of a frame: NONE for a line that is not own code. */
struct lines {
	uint32_t first, count; /* count 0: not known yet */
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
	/* For each node: the values of all stacks that it is in; which candidates are in its stack;
	 * whether the function `marked` is. */
	uint64_t *values, *candidates;
	uint8_t *has;
	uint32_t marked;
};

void own_functions_destroy(struct own_functions *functions)
{
	if (!functions)
		return;
	intern_deinit(&functions->names);
	map_deinit(&functions->numbers);
	vec_deinit(&functions->functions);
	vec_deinit(&functions->lines);
	free(functions->frames);
	free(functions->named);
	free(functions->values);
	free(functions->candidates);
	free(functions->has);
	free(functions);
}
CLEANUP_DEFINE(struct own_functions *, own_functions_destroy);

struct err *own_functions_create(const struct recording *recording, struct symbolized *symbolized,
				 struct own_functions **ret)
{
	cleanup(own_functions_destroy_at) struct own_functions *functions =
		calloc(1, sizeof(*functions));
	uint32_t frames;

	if (!functions)
		return err_no_memory();
	recording_frames(recording, &frames);
	functions->symbolized = symbolized;
	functions->sites = recording_sites(recording, &functions->site_count);
	functions->nodes = recording_stacks(recording, &functions->node_count);
	functions->marked = NONE;
	functions->frames = calloc((size_t)frames + 1, sizeof(*functions->frames));
	functions->values = calloc((size_t)functions->node_count + 1, sizeof(uint64_t));
	functions->candidates = calloc((size_t)functions->node_count + 1, sizeof(uint64_t));
	functions->has = calloc((size_t)functions->node_count + 1, 1);
	if (!functions->frames || !functions->values || !functions->candidates || !functions->has)
		return err_no_memory();
	*ret = steal(&functions);
	return NULL;
}

static struct err *number_of(struct own_functions *functions, const struct named_frame *frame,
			     uint32_t *ret)
{
	struct function function = {.frame = frame, .own = named_frame_is_own(frame)};
	uint64_t *number;

	function.name = intern_text(&functions->names, frame->function);
	number = function.name ? map_put(&functions->numbers, (uintptr_t)function.name) : NULL;
	if (!number)
		return err_no_memory();
	if (*number == MAP_NONE) {
		*number = functions->functions.count;
		if (!vec_push(&functions->functions, function))
			return err_no_memory();
	}
	*ret = (uint32_t)*number;
	return NULL;
}

static struct err *name_lines(struct own_functions *functions, uint32_t frame)
{
	const struct named_frame *named;
	struct err *err;
	size_t count;

	err = symbolized_frame(functions->symbolized, frame, &named, &count);
	if (err)
		return err;
	functions->frames[frame].first = (uint32_t)functions->lines.count;
	for (size_t i = 0; i < count; i++) {
		uint32_t number = NONE;

		if (named_frame_is_own(&named[i]))
			err = number_of(functions, &named[i], &number);
		if (err)
			return err;
		if (!vec_push(&functions->lines, number))
			return err_no_memory();
	}
	functions->frames[frame].count = (uint32_t)count;
	return NULL;
}

/* *ret: the functions of a node's lines, innermost first. */
static struct err *lines_of(struct own_functions *functions, uint32_t node, const uint32_t **ret,
			    uint32_t *count)
{
	uint32_t frame = functions->nodes[node].frame;
	struct err *err = functions->frames[frame].count ? NULL : name_lines(functions, frame);

	if (err)
		return err;
	*ret = functions->lines.items + functions->frames[frame].first;
	*count = functions->frames[frame].count;
	return NULL;
}

static struct err *name_sites(struct own_functions *functions)
{
	uint32_t *named = malloc(((size_t)functions->site_count + 1) * sizeof(*named));
	struct err *err = NULL;

	if (!named)
		return err_no_memory();
	for (uint32_t i = 0; !err && i < functions->site_count; i++) {
		struct own_code code;

		named[i] = NONE;
		err = own_code_of_stack(functions->symbolized, functions->sites[i].stack, &code);
		if (!err && code.frame)
			err = number_of(functions, code.frame, &named[i]);
	}
	if (err)
		free(named);
	else
		functions->named = named;
	return err;
}

struct err *own_functions_named(struct own_functions *functions, const uint32_t **ret,
				uint32_t *function_count)
{
	struct err *err = functions->named ? NULL : name_sites(functions);

	if (err)
		return err;
	*ret = functions->named;
	*function_count = (uint32_t)functions->functions.count;
	return NULL;
}

/* Sums up the values of nodes and of what stacks are called after. *all: of all stacks. */
static struct err *add_values(struct own_functions *functions, const uint64_t *values,
			      uint64_t *all)
{
	struct err *err = functions->named ? NULL : name_sites(functions);

	*all = 0;
	memset(functions->values, 0, functions->node_count * sizeof(*functions->values));
	for (size_t i = 0; i < functions->functions.count; i++) {
		struct function *function = &functions->functions.items[i];

		function->at_most = function->below = function->called = function->outermost = 0;
		function->depth = 0;
	}
	for (uint32_t i = 0; !err && i < functions->site_count; i++) {
		*all += values[i];
		if (functions->named[i] != NONE)
			functions->functions.items[functions->named[i]].called += values[i];
		if (functions->sites[i].stack != RECORDING_NONE)
			functions->values[functions->sites[i].stack] += values[i];
	}
	for (uint32_t i = functions->node_count; !err && i-- > 0;)
		if (functions->nodes[i].parent != RECORDING_NONE)
			functions->values[functions->nodes[i].parent] += functions->values[i];
	return err;
}

/* Finds at_most of all functions. */
static struct err *bound(struct own_functions *functions)
{
	for (uint32_t i = 0; i < functions->node_count; i++) {
		const uint32_t *lines;
		uint32_t count;
		struct err *err;

		if (!functions->values[i])
			continue;
		err = lines_of(functions, i, &lines, &count);
		if (err)
			return err;
		for (uint32_t j = 0; j < count; j++)
			if (lines[j] != NONE)
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
		struct err *err;

		if (!functions->values[i])
			continue;
		err = lines_of(functions, i, &lines, &count);
		if (err)
			return err;
		for (uint32_t j = count; j-- > 0;) {
			uint8_t place = lines[j] == NONE ? 0 : place_of[lines[j]];
			uint64_t bit = place ? UINT64_C(1) << (place - 1) : 0;

			if (bit & ~set)
				add_node(functions, i, j, count, !(set & any),
					 &functions->functions.items[lines[j]]);
			set |= bit | (lines[j] == NONE ? 0 : any);
		}
		functions->candidates[i] = set;
	}
	for (uint32_t i = 0; i < number_count; i++)
		place_of[numbers[i]] = 0;
	return NULL;
}

/* Whether so much is nine tenths or more. */
static bool is_most(uint64_t value, uint64_t all)
{
	return (double)value * 10 >= (double)all * 9;
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
		if (is_most(functions->functions.items[i].at_most, all))
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
	return function->below && is_most(function->below, all) &&
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
	uint32_t deepest = NONE, most = NONE;

	for (uint32_t i = 0; i < functions->functions.count; i++) {
		if (!called && explains(&items[i], all) &&
		    (deepest == NONE || is_deeper(&items[i], &items[deepest])))
			deepest = i;
		if (items[i].called && (most == NONE || items[i].called > items[most].called))
			most = i;
	}
	*inclusive = deepest != NONE;
	return deepest != NONE ? deepest : most;
}

/* *ret: the function is in the stack. *frame: its innermost frame there. */
static struct err *find_in_stack(struct own_functions *functions, uint32_t stack, uint32_t number,
				 const struct named_frame **ret)
{
	const char *name = functions->functions.items[number].name;

	*ret = NULL;
	for (uint32_t node = stack; node != RECORDING_NONE; node = functions->nodes[node].parent) {
		const struct named_frame *lines;
		size_t count;
		struct err *err = symbolized_frame(functions->symbolized,
						   functions->nodes[node].frame, &lines, &count);

		if (err)
			return err;
		for (size_t i = 0; i < count; i++) {
			if (strcmp(lines[i].function, name) != 0)
				continue;
			*ret = &lines[i];
			return NULL;
		}
	}
	return NULL;
}

/* Finds out for each node whether the function is in its stack. */
static struct err *mark(struct own_functions *functions, uint32_t number)
{
	if (functions->marked == number)
		return NULL;
	functions->marked = NONE;
	for (uint32_t i = 0; i < functions->node_count; i++) {
		uint32_t parent = functions->nodes[i].parent, count;
		const uint32_t *lines;
		struct err *err = lines_of(functions, i, &lines, &count);

		if (err)
			return err;
		functions->has[i] = parent != RECORDING_NONE && functions->has[parent];
		for (uint32_t j = 0; j < count; j++)
			functions->has[i] |= lines[j] == number;
	}
	functions->marked = number;
	return NULL;
}

/* Whether the picked function's value is of that site, too. If it is inclusive: after mark(). */
static bool is_of(const struct own_functions *functions, const struct picked_function *picked,
		  uint32_t site)
{
	uint32_t stack = functions->sites[site].stack;

	return functions->named[site] == picked->number ||
	       (picked->inclusive && stack != RECORDING_NONE && functions->has[stack]);
}

/* Finds the stack that shows the function best. */
static struct err *show(struct own_functions *functions, const uint64_t *values,
			struct picked_function *ret)
{
	struct err *err = ret->inclusive ? mark(functions, ret->number) : NULL;
	uint64_t most = 0;

	for (uint32_t i = 0; !err && i < functions->site_count; i++) {
		if (values[i] <= most || !is_of(functions, ret, i))
			continue;
		most = values[i];
		ret->stack = functions->sites[i].stack;
	}
	return err ? err : find_in_stack(functions, ret->stack, ret->number, &ret->frame);
}

static struct err *pick(struct own_functions *functions, const uint64_t *values, bool called,
			struct picked_function *ret)
{
	struct picked_function picked = {.stack = RECORDING_NONE, .number = NONE};
	struct err *err = add_values(functions, values, &picked.all);
	const struct function *function;

	if (!err && picked.all && !called)
		err = measure_all(functions, picked.all);
	if (!err)
		picked.number = choose(functions, picked.all, called, &picked.inclusive);
	if (err || picked.number == NONE) {
		*ret = picked;
		return err;
	}
	function = &functions->functions.items[picked.number];
	picked.own = function->own;
	picked.value = picked.inclusive ? function->below : function->called;
	err = show(functions, values, &picked);
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

struct err *own_functions_take(struct own_functions *functions,
			       const struct picked_function *picked,
			       void (*take)(void *argument, uint32_t site), void *argument)
{
	struct err *err = picked->inclusive ? mark(functions, picked->number) : NULL;

	for (uint32_t i = 0; !err && i < functions->site_count; i++)
		if (is_of(functions, picked, i))
			take(argument, i);
	return err;
}

const struct named_frame *own_functions_frame(const struct own_functions *functions,
					      uint32_t number)
{
	return functions->functions.items[number].frame;
}

bool own_functions_is_overloaded(const struct own_functions *functions, uint32_t number)
{
	const char *name = functions->functions.items[number].name;
	size_t length = function_name_length(name);

	for (uint32_t i = 0; i < functions->functions.count; i++)
		if (i != number &&
		    function_name_length(functions->functions.items[i].name) == length &&
		    strncmp(functions->functions.items[i].name, name, length) == 0)
			return true;
	return false;
}
