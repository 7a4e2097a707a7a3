/*
 * What to show of a picked function: the line in it that most of the value is for, and the call
 * that it made there.
 *
 *	innermost   std::vector<char>::vector(…)
 *	            Session::Session(…)              own, too
 *	            std::make_shared<Session>()      inside: the call
 *	            Cache::put                       in: picked
 *	outermost   main
 */
#include "analysis/findings/own_functions.h"

#include <string.h>

#include "analysis/findings/own_functions_data.h"
#include "analysis/names/own_code.h"
#include "hosted/cleanup.h"

#define CALL_PART 2 /* the call is worth saying if it has so large a part of the value */

/*
 * Finds out for each node whether, and where, the function is in its stack. valued: only of nodes
 * with values are the names looked up, and what is found out holds for these values alone.
 */
static struct err *mark(struct own_functions *functions, uint32_t number, bool valued)
{
	uint32_t *in = functions->in, *inside = functions->inside;

	if (functions->marked == number)
		return NULL;
	functions->marked = FUNCTION_NONE;
	for (uint32_t i = 0; i < functions->node_count; i++) {
		uint32_t parent = functions->nodes[i].parent, count = 0;
		const uint32_t *lines;
		struct err *err = NULL;

		if (!valued || functions->values[i])
			err = own_functions_lines(functions, i, &lines, &count);
		if (err)
			return err;
		in[i] = parent == RECORDING_NONE ? RECORDING_NONE : in[parent];
		inside[i] = in[i] == parent ? i : in[i] == RECORDING_NONE ? i : inside[parent];
		for (uint32_t j = 0; j < count; j++)
			if (lines[j] == number)
				in[i] = inside[i] = i;
	}
	functions->marked = valued ? FUNCTION_NONE : number;
	return NULL;
}

/* Whether the picked function's value is of that site, too. If it is inclusive: after mark(). */
static bool is_of(const struct own_functions *functions, const struct picked_function *picked,
		  uint32_t site)
{
	uint32_t stack = functions->sites[site].stack;

	return functions->named[site] == picked->number ||
	       (picked->inclusive && stack != RECORDING_NONE &&
		functions->in[stack] != RECORDING_NONE);
}

struct err *own_functions_take(struct own_functions *functions,
			       const struct picked_function *picked,
			       void (*take)(void *argument, uint32_t site), void *argument)
{
	struct err *err = picked->inclusive ? mark(functions, picked->number, false) : NULL;

	for (uint32_t i = 0; !err && i < functions->site_count; i++)
		if (is_of(functions, picked, i))
			take(argument, i);
	return err;
}

/* Values of the sites that share a line of the function, or the name of a call. */
struct share {
	const struct named_frame *frame;
	uint64_t value, most;
	uint32_t stack; /* of the site with the value `most` */
};

struct shares {
	struct map numbers;
	VEC(struct share) list;
};

static void shares_deinit(struct shares *shares)
{
	map_deinit(&shares->numbers);
	vec_deinit(&shares->list);
}

static struct err *add(struct shares *shares, uint64_t key, const struct named_frame *frame,
		       uint32_t stack, uint64_t value)
{
	uint64_t *number = map_put(&shares->numbers, key);
	struct share *share;

	if (!number)
		return err_no_memory();
	if (*number == MAP_NONE) {
		*number = shares->list.count;
		if (!vec_push(&shares->list, (struct share){.frame = frame}))
			return err_no_memory();
	}
	share = &shares->list.items[*number];
	share->value += value;
	if (value > share->most) {
		share->frame = frame;
		share->most = value;
		share->stack = stack;
	}
	return NULL;
}

/* The largest; NULL: there is none. */
static const struct share *largest(const struct shares *shares)
{
	const struct share *ret = NULL;

	for (size_t i = 0; i < shares->list.count; i++)
		if (!ret || shares->list.items[i].value > ret->value)
			ret = &shares->list.items[i];
	return ret;
}

/* *frame: that of the function in a stack that it is in; *call: the next one inside, or NULL. */
static struct err *find_frame(struct own_functions *functions, uint32_t number, uint32_t stack,
			      const struct named_frame **frame, const struct named_frame **call)
{
	uint32_t node = functions->in[stack], inside = functions->inside[stack], line = 0, unused;
	const struct named_frame *named;
	const uint32_t *numbers;
	size_t count;
	struct err *err = own_functions_lines(functions, node, &numbers, &unused);

	if (!err)
		err = symbolized_frame(functions->symbolized, functions->nodes[node].frame, &named,
				       &count);
	if (err)
		return err;
	while (numbers[line] != number)
		line++;
	*frame = &named[line];
	*call = line ? &named[line - 1] : NULL;
	if (line || inside == node)
		return NULL;
	err = symbolized_frame(functions->symbolized, functions->nodes[inside].frame, &named,
			       &count);
	if (!err)
		*call = &named[count - 1];
	return err;
}

/* Adds a site to the sums of its line and its call. */
static struct err *add_site(struct own_functions *functions, uint32_t number, uint32_t stack,
			    uint64_t value, struct shares *lines, struct shares *calls)
{
	const struct named_frame *frame = NULL, *call = NULL;
	const char *name;
	struct err *err = find_frame(functions, number, stack, &frame, &call);

	if (!err)
		err = add(lines, frame->line, frame, stack, value);
	if (err || !call || !call->plumbing || !call->has_symbol)
		return err;
	name = intern_text(&functions->names, call->function);
	return name ? add(calls, (uintptr_t)name, call, stack, value) : err_no_memory();
}

static struct err *show_own(struct own_functions *functions, const uint64_t *values,
			    struct picked_function *ret)
{
	cleanup(shares_deinit) struct shares lines = {0}, calls = {0};
	struct err *err = mark(functions, ret->number, !ret->inclusive);
	const struct share *line, *call;

	for (uint32_t i = 0; !err && i < functions->site_count; i++) {
		uint32_t stack = functions->sites[i].stack;

		if (values[i] && is_of(functions, ret, i) && stack != RECORDING_NONE &&
		    functions->in[stack] != RECORDING_NONE)
			err = add_site(functions, ret->number, stack, values[i], &lines, &calls);
	}
	if (err)
		return err;
	line = largest(&lines);
	call = largest(&calls);
	if (line) {
		ret->frame = line->frame;
		ret->stack = line->stack;
	}
	ret->lines = (uint32_t)lines.list.count;
	if (call && call->value >= ret->value / CALL_PART) {
		ret->call = call->frame;
		ret->call_value = call->value;
	}
	return NULL;
}

/* The same where no own code has a name: the frame is that which stacks are called after. */
static struct err *show_other(struct own_functions *functions, const uint64_t *values,
			      struct picked_function *ret)
{
	struct own_code code;
	struct err *err;
	uint64_t most = 0;

	for (uint32_t i = 0; i < functions->site_count; i++) {
		if (values[i] <= most || !is_of(functions, ret, i))
			continue;
		most = values[i];
		ret->stack = functions->sites[i].stack;
	}
	err = own_code_of_stack(functions->symbolized, ret->stack, &code);
	if (!err)
		ret->frame = code.frame;
	return err;
}

struct err *own_functions_show(struct own_functions *functions, const uint64_t *values,
			       struct picked_function *ret)
{
	return (ret->own ? show_own : show_other)(functions, values, ret);
}
