#include "analysis/findings/own_functions.h"

#include <string.h>

#include "analysis/findings/function_pattern.h"
#include "analysis/names/own_code.h"
#include "hosted/cleanup.h"
#include "hosted/intern.h"
#include "hosted/map.h"
#include "hosted/vec.h"

#define NONE UINT32_MAX

struct function {
	const char *name; /* interned */
	const struct named_frame *frame;
	bool own;
	/* While one is picked: */
	uint32_t last_site;     /* number + 1 of the last site that was added */
	uint64_t below, called; /* the values of stacks that it is in, and of those called so */
	uint64_t outermost;     /* of those in which no own function is outside of it */
	double depth;           /* values times own functions inside of it */
};

/* The functions of the lines of a frame: NONE for a line that is not own code. */
struct lines {
	uint32_t first, count; /* count 0: not known yet */
};

struct own_functions {
	struct symbolized *symbolized;
	const struct site *sites;
	uint32_t site_count;
	const struct stack_node *nodes;
	struct intern names;
	struct map numbers; /* from a name's address to the number of its function */
	VEC(struct function) functions;
	struct lines *frames;
	VEC(uint32_t) lines; /* of all frames */
	uint32_t *named;     /* for each site; NULL: not made yet */
	VEC(uint32_t) path;  /* own functions of the stack that is looked at, innermost first */
};

void own_functions_destroy(struct own_functions *functions)
{
	if (!functions)
		return;
	intern_deinit(&functions->names);
	map_deinit(&functions->numbers);
	vec_deinit(&functions->functions);
	vec_deinit(&functions->lines);
	vec_deinit(&functions->path);
	free(functions->frames);
	free(functions->named);
	free(functions);
}
CLEANUP_DEFINE(struct own_functions *, own_functions_destroy);

struct err *own_functions_create(const struct recording *recording, struct symbolized *symbolized,
				 struct own_functions **ret)
{
	cleanup(own_functions_destroy_at) struct own_functions *functions =
		calloc(1, sizeof(*functions));
	uint32_t frames, nodes;

	if (!functions)
		return err_no_memory();
	recording_frames(recording, &frames);
	functions->symbolized = symbolized;
	functions->sites = recording_sites(recording, &functions->site_count);
	functions->nodes = recording_stacks(recording, &nodes);
	functions->frames = calloc((size_t)frames + 1, sizeof(*functions->frames));
	if (!functions->frames)
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

/* Makes the path of a stack. */
static struct err *find_path(struct own_functions *functions, uint32_t stack)
{
	functions->path.count = 0;
	for (uint32_t node = stack; node != RECORDING_NONE; node = functions->nodes[node].parent) {
		uint32_t frame = functions->nodes[node].frame;
		const struct lines *lines = &functions->frames[frame];
		struct err *err = lines->count ? NULL : name_lines(functions, frame);

		if (err)
			return err;
		for (uint32_t i = 0; i < lines->count; i++) {
			uint32_t number = functions->lines.items[lines->first + i];

			if (number != NONE && !vec_push(&functions->path, number))
				return err_no_memory();
		}
	}
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

static struct err *add_site(struct own_functions *functions, uint32_t site, uint64_t value)
{
	struct err *err = find_path(functions, functions->sites[site].stack);
	uint32_t named = functions->named[site];

	if (err)
		return err;
	if (named != NONE)
		functions->functions.items[named].called += value;
	for (size_t i = 0; i < functions->path.count; i++) {
		struct function *function = &functions->functions.items[functions->path.items[i]];

		if (function->last_site == site + 1)
			continue; // recursion: its innermost frame counts
		function->last_site = site + 1;
		function->below += value;
		function->depth += (double)value * (double)i;
	}
	if (functions->path.count)
		functions->functions.items[functions->path.items[functions->path.count - 1]]
			.outermost += value;
	return NULL;
}

static struct err *add_all(struct own_functions *functions, const uint64_t *values, uint64_t *all)
{
	struct err *err = functions->named ? NULL : name_sites(functions);

	for (size_t i = 0; i < functions->functions.count; i++) {
		struct function *function = &functions->functions.items[i];

		function->last_site = 0;
		function->below = function->called = function->outermost = 0;
		function->depth = 0;
	}
	*all = 0;
	for (uint32_t i = 0; !err && i < functions->site_count; i++) {
		if (!values[i])
			continue;
		*all += values[i];
		err = add_site(functions, i, values[i]);
	}
	return err;
}

/* Whether nine tenths are below the function, and it is not merely everybody's caller. */
static bool explains(const struct function *function, uint64_t all)
{
	return (double)function->below * 10 >= (double)all * 9 &&
	       (double)function->outermost * 2 < (double)function->below;
}

/* Whether a is deeper in the stacks than b. */
static bool is_deeper(const struct function *a, const struct function *b)
{
	return a->depth * (double)b->below < b->depth * (double)a->below;
}

static uint32_t choose(const struct own_functions *functions, uint64_t all, bool *inclusive)
{
	const struct function *items = functions->functions.items;
	uint32_t deepest = NONE, most = NONE;

	for (uint32_t i = 0; i < functions->functions.count; i++) {
		if (explains(&items[i], all) &&
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

/* *ret: the picked function's value is of that site, too. */
static struct err *is_of(struct own_functions *functions, const struct picked_function *picked,
			 uint32_t site, bool *ret)
{
	struct err *err = NULL;

	*ret = functions->named[site] == picked->number;
	if (*ret || !picked->inclusive)
		return NULL;
	err = find_path(functions, functions->sites[site].stack);
	for (size_t i = 0; !err && i < functions->path.count && !*ret; i++)
		*ret = functions->path.items[i] == picked->number;
	return err;
}

/* Finds the stack that shows the function best. */
static struct err *show(struct own_functions *functions, const uint64_t *values,
			struct picked_function *ret)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < functions->site_count; i++) {
		struct err *err;
		bool is;

		if (values[i] <= most)
			continue;
		err = is_of(functions, ret, i, &is);
		if (err)
			return err;
		if (!is)
			continue;
		most = values[i];
		ret->stack = functions->sites[i].stack;
	}
	return find_in_stack(functions, ret->stack, ret->number, &ret->frame);
}

struct err *own_functions_pick(struct own_functions *functions, const uint64_t *values,
			       struct picked_function *ret)
{
	struct picked_function picked = {.stack = RECORDING_NONE, .number = NONE};
	struct err *err = add_all(functions, values, &picked.all);
	const struct function *function;

	if (!err)
		picked.number = choose(functions, picked.all, &picked.inclusive);
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

struct err *own_functions_take(struct own_functions *functions,
			       const struct picked_function *picked,
			       void (*take)(void *argument, uint32_t site), void *argument)
{
	for (uint32_t i = 0; i < functions->site_count; i++) {
		bool is;
		struct err *err = is_of(functions, picked, i, &is);

		if (err)
			return err;
		if (is)
			take(argument, i);
	}
	return NULL;
}

const struct named_frame *own_functions_frame(const struct own_functions *functions,
					      uint32_t number)
{
	return functions->functions.items[number].frame;
}

bool own_functions_is_overloaded(const struct own_functions *functions, uint32_t number)
{
	const char *name = functions->functions.items[number].name;
	size_t length = function_pattern_length(name);

	for (uint32_t i = 0; i < functions->functions.count; i++)
		if (i != number &&
		    function_pattern_length(functions->functions.items[i].name) == length &&
		    strncmp(functions->functions.items[i].name, name, length) == 0)
			return true;
	return false;
}
