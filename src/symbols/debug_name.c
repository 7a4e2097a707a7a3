#include "symbols/debug_name.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "symbols/debug_walk.h"

#define CALL_OPERATOR "operator()"

/* How many steps it may be from a copy of a function to what it is a copy of. */
#define ORIGINS_MAX 4

void debug_names_deinit(struct debug_names *names)
{
	map_deinit(&names->seen);
	vec_deinit(&names->lambdas);
	arena_deinit(&names->texts);
}

static const char *string_attribute(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

static const char *linkage_name(Dwarf_Die *function)
{
	const char *name = string_attribute(function, DW_AT_linkage_name);

	return name ? name : string_attribute(function, DW_AT_MIPS_linkage_name);
}

/* Also "operator()<int>", of a lambda with auto. */
static bool is_call_operator(const char *name)
{
	return name && !strncmp(name, CALL_OPERATOR, strlen(CALL_OPERATOR));
}

/* The function or class that the walk is in. */
struct scope {
	Dwarf_Die function; /* addr NULL: none */
	Dwarf_Die class;    /* without a name, as a lambda's is; addr NULL: it is none */
};

/* The state of a walk over a unit's DIEs. */
struct walk {
	struct debug_names *names;
	struct debug_walk order;
};

static uint64_t key_of(const Dwarf_Die *die)
{
	return (uint64_t)(uintptr_t)die->addr;
}

static struct err *add_lambda(struct debug_names *names, const Dwarf_Die *call, struct scope *scope)
{
	struct debug_lambda lambda = {
		.function = scope->function,
		.class = scope->class.addr,
	};

	dwarf_decl_line(&scope->class, &lambda.line);
	dwarf_decl_column(&scope->class, &lambda.column);
	if (!vec_push(&names->lambdas, lambda))
		return err_no_memory();

	uint64_t *index = map_put(&names->seen, key_of(call));

	if (!index)
		return err_no_memory();
	*index = names->lambdas.count - 1;
	return NULL;
}

static struct err *walk_children(struct walk *walk, Dwarf_Die *die, struct scope *scope, int depth);

static struct err *visit(struct walk *walk, Dwarf_Die *die, struct scope *scope, int depth)
{
	struct scope within = {.function = scope->function};
	struct err *err = NULL;

	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		if (scope->class.addr && is_call_operator(dwarf_diename(die)) && !linkage_name(die))
			err = add_lambda(walk->names, die, scope);
		within.function = *die;
		break;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
		if (!dwarf_hasattr(die, DW_AT_name))
			within.class = *die;
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_union_type:
		break;
	default:
		return NULL;
	}
	return err ? err : walk_children(walk, die, &within, depth);
}

static struct err *walk_children(struct walk *walk, Dwarf_Die *die, struct scope *scope, int depth)
{
	Dwarf_Die child;

	for (bool any = debug_walk_first(&walk->order, die, depth, &child); any;
	     any = debug_walk_next(&walk->order, &child)) {
		struct err *err = visit(walk, &child, scope, depth + 1);

		if (err)
			return err;
	}
	return NULL;
}

/* Finds the lambdas of the DIE's unit, once. */
static struct err *walk_unit(struct debug_names *names, Dwarf_Die *die)
{
	struct scope scope = {0};
	struct walk walk = {.names = names};
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL) ||
	    map_get(&names->seen, key_of(&unit)) != MAP_NONE)
		return NULL;
	debug_walk_begin(&walk.order, &unit);

	struct err *err = walk_children(&walk, &unit, &scope, 0);
	uint64_t *walked = err ? NULL : map_put(&names->seen, key_of(&unit));

	if (walked)
		*walked = 0;
	return err || walked ? err : err_no_memory();
}

/* Which of its function's lambdas it is, from 1 on, in the order of the source. */
static uint32_t number_of(const struct debug_names *names, uint64_t index)
{
	const struct debug_lambda *all = names->lambdas.items, *lambda = &all[index];
	uint32_t number = 1;

	for (size_t i = 0; i < names->lambdas.count; i++) {
		// Those of one class (a lambda with auto has several operators) stand together.
		if (all[i].function.addr != lambda->function.addr ||
		    all[i].class == lambda->class || (i && all[i].class == all[i - 1].class))
			continue;
		number += all[i].line != lambda->line ? all[i].line < lambda->line
						      : all[i].column < lambda->column;
	}
	return number;
}

/*
 * Makes the lambda's name. function: of what it stands in, mangled or not; NULL: of nothing.
 * arguments: template arguments of its operator. Grammar: "<local-name>" of the Itanium C++
 * ABI 5.1.6.
 */
static void put_name(struct buf *ret, const char *function, uint32_t number, const char *arguments)
{
	char own[32] = "{lambda}";

	if (number > 1)
		snprintf(own, sizeof(own), "{lambda#%u}", number);
	buf_text(ret, function ? "_ZZ" : "_Z");
	if (function && !strncmp(function, "_Z", 2))
		buf_printf(ret, "%sE", function + 2);
	else if (function)
		buf_printf(ret, "%zu%sE", strlen(function), function);
	buf_printf(ret, "%zu%s%s", strlen(own) + strlen(arguments), own, arguments);
}

static struct err *find_name(struct debug_names *names, Dwarf_Die *function, const Dwarf_Die *call,
			     const char **ret);

/* Names the lambda after its function, which may be a lambda's, too. name: what DWARF calls its
 * operator. */
static struct err *make_name(struct debug_names *names, uint64_t index, const char *name)
{
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	struct debug_lambda lambda = names->lambdas.items[index];
	const char *function = NULL;
	struct err *err = NULL;

	// The DIE itself, around this one: references of a damaged file may lead back here.
	if (lambda.function.addr)
		err = find_name(names, &lambda.function, &lambda.function, &function);
	if (err)
		return err;
	put_name(&text, function, number_of(names, index), name + strlen(CALL_OPERATOR));
	err = buf_finish(&text);
	if (err)
		return err;
	lambda.name = arena_copy(&names->texts, text.data, text.size);
	names->lambdas.items[index] = lambda;
	return lambda.name ? NULL : err_no_memory();
}

/* call: the operator that the walk has seen, if the function is a lambda. */
static struct err *find_name(struct debug_names *names, Dwarf_Die *function, const Dwarf_Die *call,
			     const char **ret)
{
	struct err *err = NULL;
	uint64_t index;

	*ret = linkage_name(function);
	if (!*ret)
		*ret = string_attribute(function, DW_AT_name);
	index = is_call_operator(*ret) ? map_get(&names->seen, key_of(call)) : MAP_NONE;
	if (index == MAP_NONE)
		return NULL;
	if (!names->lambdas.items[index].name)
		err = make_name(names, index, *ret);
	*ret = names->lambdas.items[index].name;
	return err;
}

/* The DIE with the code's scope: of an inlined copy, what it is a copy of. */
static Dwarf_Die origin_of(const Dwarf_Die *function)
{
	Dwarf_Die die = *function;
	Dwarf_Attribute attribute;

	for (int i = 0; i < ORIGINS_MAX; i++)
		if (!dwarf_formref_die(dwarf_attr(&die, DW_AT_abstract_origin, &attribute), &die))
			break;
	return die;
}

struct err *debug_name_find(struct debug_names *names, Dwarf_Die *function, const char **ret)
{
	Dwarf_Die call = origin_of(function);
	struct err *err = find_name(names, function, &call, ret);

	if (err || !is_call_operator(*ret))
		return err;
	// A lambda's: of a unit that was not walked yet.
	err = walk_unit(names, &call);
	return err ? err : find_name(names, function, &call, ret);
}
