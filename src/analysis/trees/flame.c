#include "analysis/trees/flame.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trees/flame_groups.h"
#include "hosted/arena.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"

/*
 * The widest group is always the next that becomes a node. Groups that are too narrow become none,
 * so nothing below them is looked at.
 */
struct builder {
	const struct flame_options *options;
	struct flame_groups groups;
	VEC(struct flame_group) waiting; /* a heap: the widest is on top */
	uint32_t *name_of_label;         /* by number of a label: index + 1; 0: none */
	VEC(struct flame_node) nodes;
	VEC(struct flame_name) names;
	struct arena *texts;
};

struct flame_impl {
	struct flame flame;
	struct arena texts;
};

static void builder_deinit(struct builder *builder)
{
	flame_groups_deinit(&builder->groups);
	vec_deinit(&builder->waiting);
	free(builder->name_of_label);
	vec_deinit(&builder->nodes);
	vec_deinit(&builder->names);
}

void flame_destroy(struct flame *flame)
{
	struct flame_impl *impl = (struct flame_impl *)flame;

	if (!flame)
		return;
	free(flame->nodes);
	free(flame->names);
	arena_deinit(&impl->texts);
	free(impl);
}

void flame_node_id(const struct flame_node *node, char text[FLAME_ID_SIZE])
{
	snprintf(text, FLAME_ID_SIZE, "%" PRIu32 ".%" PRIu32, node->tree_node, node->steps);
}

/* --- the groups that wait to become nodes --- */

/* Equal ones in the order of their first nodes in the tree, so that answers are the same. */
static bool is_wider(const struct flame_group *a, const struct flame_group *b)
{
	if (a->sums.value != b->sums.value)
		return a->sums.value > b->sums.value;
	return a->parent != b->parent ? a->parent < b->parent : a->tree_node < b->tree_node;
}

static bool wait_for(struct builder *builder, const struct flame_group *group)
{
	struct flame_group *heap;
	size_t i = builder->waiting.count;

	if (!vec_push(&builder->waiting, *group))
		return false;
	heap = builder->waiting.items;
	for (; i && is_wider(group, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = *group;
	return true;
}

/* Takes the widest group. */
static struct flame_group next_group(struct builder *builder)
{
	struct flame_group *heap = builder->waiting.items, widest = heap[0];
	size_t count = --builder->waiting.count, i = 0;
	const struct flame_group *last = &heap[count];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < count && is_wider(&heap[child + 1], &heap[child]))
			child++;
		if (child >= count || !is_wider(&heap[child], last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = *last;
	return widest;
}

/* --- nodes of the graph --- */

static struct err *add_name(struct builder *builder, const char *text,
			    const struct named_frame *frame, uint32_t *ret)
{
	const char *copy = arena_text(builder->texts, text);

	*ret = (uint32_t)builder->names.count;
	return copy && vec_push(&builder->names, (struct flame_name){copy, frame})
		       ? NULL
		       : err_no_memory();
}

/* *ret: the name of the label of a node of the tree. */
static struct err *name_of(struct builder *builder, uint32_t tree_node, uint32_t *ret)
{
	const struct tree_node *node = &builder->groups.tree->nodes[tree_node];
	struct err *err = NULL;
	uint32_t *name;

	if (!tree_node)
		return add_name(builder, "all", NULL, ret);
	name = &builder->name_of_label[node->number];
	if (!*name) {
		err = add_name(builder, node->label, node->frame, name);
		++*name;
	}
	*ret = *name - 1;
	return err;
}

/* *ret: a name of both ends of a row of nodes of the tree. */
static struct err *name_of_trunk(struct builder *builder, uint32_t first, uint32_t last,
				 unsigned parts, uint32_t *ret)
{
	const struct tree_node *nodes = builder->groups.tree->nodes;
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;

	buf_text(&text, nodes[first].label);
	buf_text(&text, parts > 2 ? " > \xe2\x80\xa6 > " : " > ");
	buf_text(&text, nodes[last].label);
	if (!buf_string(&text))
		return err_no_memory();
	return add_name(builder, text.data, nodes[last].frame, ret);
}

/*
 * Whether a row is one node, or its ends are a script's function and a comprehension in it, which
 * is called as the function.
 */
static bool is_one_name(const struct builder *builder, uint32_t first, uint32_t last)
{
	const struct tree_node *nodes = builder->groups.tree->nodes;

	return first == last || (first && last && nodes[first].number == nodes[last].number &&
				 nodes[first].frame->script);
}

/* Adds the node of a group. expand() gives it a name, and all that is about what is below it. */
static struct err *add_node(struct builder *builder, const struct flame_group *group)
{
	struct flame_node node = {
		.parent = group->parent,
		.folded = group->folded ? group->folded : 1,
		.value = group->sums.value,
		.sides = {[DIFF_BEFORE] = group->sums.sides[DIFF_BEFORE],
			  [DIFF_AFTER] = group->sums.sides[DIFF_AFTER]},
		.blocks = group->sums.blocks,
		.leaked = group->sums.leaked,
		.age_ns = group->sums.blocks
				  ? (uint64_t)(group->sums.lived_ns / (double)group->sums.blocks)
				  : 0,
		.calls = group->sums.calls,
		.temporary = group->sums.temporary,
		.tree_node = builder->options->callers ? group->from : group->tree_node,
		.steps = group->steps,
	};

	return vec_push(&builder->nodes, node) ? NULL : err_no_memory();
}

/* Whether a child is as good as all of the node: the next part of a trunk. */
static bool is_trunk(const struct builder *builder, const struct flame_node *node,
		     const struct flame_group *child)
{
	return builder->options->trunks && node->parent != RECORDING_NONE &&
	       (double)child->sums.value >= 0.95 * (double)node->value;
}

/* What has calls alone has no width at all. */
static bool is_wide(const struct builder *builder, const struct flame_group *group)
{
	uint64_t cut = builder->options->cut;

	if (!group->sums.value)
		return false;
	return !cut ||
	       (double)group->sums.value * (double)cut >= (double)builder->nodes.items[0].value;
}

/*
 * Lets the children wait that are wide enough; the others become the node's rest. *trunk: the child
 * that the node stands for, too; its items are 0 if there is none.
 */
static struct err *sort_children(struct builder *builder, const struct flame_group *group,
				 struct flame_node *node, struct flame_group *trunk)
{
	auto_free bool *wanted = calloc(builder->groups.children.count + 1, sizeof(*wanted));
	struct err *err;

	*trunk = (struct flame_group){0};
	if (!wanted)
		return err_no_memory();
	for (size_t i = 0; i < builder->groups.children.count; i++)
		wanted[i] = is_wide(builder, &builder->groups.children.items[i]);
	err = flame_groups_place(&builder->groups, group, wanted);
	for (size_t i = 0; !err && i < builder->groups.children.count; i++) {
		struct flame_group *child = &builder->groups.children.items[i];

		child->parent = (uint32_t)(node - builder->nodes.items);
		if (!wanted[i]) {
			node->rest += child->sums.value;
			node->more += child->sums.value != 0;
		} else if (is_trunk(builder, node, child)) {
			*trunk = *child;
		} else if (!wait_for(builder, child)) {
			err = err_no_memory();
		}
	}
	return err;
}

/* Finds what is below the latest node, the one of that group. */
static struct err *expand(struct builder *builder, const struct flame_group *group)
{
	struct flame_node *node = &builder->nodes.items[builder->nodes.count - 1];
	struct flame_group last, trunk = *group;
	unsigned parts = 0;
	struct err *err;

	do {
		uint64_t own;

		last = trunk;
		parts++;
		err = flame_groups_find(&builder->groups, &last, &own);
		node->own += own;
		if (!err)
			err = sort_children(builder, &last, node, &trunk);
		flame_groups_leave(&builder->groups);
		if (!err && trunk.items)
			node->folded += trunk.folded ? trunk.folded : 1;
	} while (!err && trunk.items);
	if (err)
		return err;
	return is_one_name(builder, group->tree_node, last.tree_node)
		       ? name_of(builder, last.tree_node, &node->name)
		       : name_of_trunk(builder, group->tree_node, last.tree_node, parts,
				       &node->name);
}

/* --- the root --- */

/* Parses flame_node_id(). */
static bool parse_id(const struct builder *builder, uint32_t *node, uint32_t *steps)
{
	char canonical[FLAME_ID_SIZE];
	struct flame_node parsed = {0};

	if (sscanf(builder->options->root, "%" SCNu32 ".%" SCNu32, &parsed.tree_node,
		   &parsed.steps) != 2)
		return false;
	flame_node_id(&parsed, canonical);
	*node = parsed.tree_node;
	*steps = parsed.steps;
	return strcmp(canonical, builder->options->root) == 0 &&
	       *node < builder->groups.tree->count;
}

/*
 * The numbers of the labels from the first group to the node of an id: callees, from the outermost
 * on, so the last ones of the node's stack; callers the other way round. false: it has fewer.
 */
static bool find_path(const struct builder *builder, uint32_t node, uint32_t *path, uint32_t steps)
{
	const struct tree_node *nodes = builder->groups.tree->nodes;
	bool callers = builder->options->callers;
	uint32_t at = callers && builder->options->focus ? nodes[node].parent : node;

	for (uint32_t i = 0; i < steps; i++, at = nodes[at].parent) {
		if (!at || at == RECORDING_NONE)
			return false;
		path[callers ? i : steps - 1 - i] = nodes[at].number;
	}
	return true;
}

/* Makes the group that of options->root. */
static struct err *find_root(struct builder *builder, struct flame_group *group)
{
	auto_free uint32_t *path = NULL;
	struct err *err = NULL;
	uint32_t node = 0, steps = 0;
	bool found = parse_id(builder, &node, &steps) && steps < builder->groups.tree->count;

	path = malloc((found ? (size_t)steps + 1 : 1) * sizeof(*path));
	if (!path)
		return err_no_memory();
	found = found && find_path(builder, node, path, steps);
	for (uint32_t i = 0; found && !err && i < steps; i++) {
		err = flame_groups_descend(&builder->groups, group, path[i]);
		found = group->items != 0;
	}
	if (!err && !found)
		err = err_create("root '%s' is no node of this graph: it wants the id of a node "
				 "of the same conditions and options",
				 builder->options->root);
	return err;
}

static struct err *build(struct builder *builder)
{
	struct flame_group group = {.parent = RECORDING_NONE};
	uint32_t labels = builder->groups.tree->labels;
	struct err *err;

	builder->name_of_label = calloc((size_t)labels + 1, sizeof(*builder->name_of_label));
	if (!builder->name_of_label)
		return err_no_memory();
	err = flame_groups_begin(&builder->groups, &group);
	if (!err && builder->options->root)
		err = find_root(builder, &group);
	group.parent = RECORDING_NONE;
	if (!err && !wait_for(builder, &group))
		err = err_no_memory();
	while (!err && builder->waiting.count && builder->nodes.count < builder->options->most) {
		group = next_group(builder);
		err = add_node(builder, &group);
		if (!err)
			err = expand(builder, &group);
	}
	for (size_t i = 0; !err && i < builder->waiting.count; i++) {
		struct flame_node *parent = &builder->nodes.items[builder->waiting.items[i].parent];

		parent->rest += builder->waiting.items[i].sums.value;
		parent->more++;
	}
	return err;
}

/* values: of each site of the recording. */
static struct err *create(const struct recording *recording, struct symbolized *symbolized,
			  const struct flame_value *values, const struct flame_options *options,
			  struct flame **ret)
{
	struct flame_impl *impl = calloc(1, sizeof(*impl));
	cleanup(flame_destroy_at) struct flame *flame = impl ? &impl->flame : NULL;
	cleanup(builder_deinit) struct builder builder = {.options = options};
	struct err *err;

	if (!impl)
		return err_no_memory();
	builder.texts = &impl->texts;
	err = flame_groups_init(&builder.groups, recording, symbolized, values, options);
	if (!err)
		err = build(&builder);
	if (err)
		return err;
	flame->count = (uint32_t)builder.nodes.count;
	flame->nodes = steal(&builder.nodes.items);
	flame->name_count = (uint32_t)builder.names.count;
	flame->names = steal(&builder.names.items);
	*ret = steal(&flame);
	return NULL;
}

struct err *flame_create(const struct flame_side *side, struct symbolized *symbolized,
			 const struct flame_options *options, struct flame **ret)
{
	auto_free struct flame_value *values = NULL;
	struct err *err = flame_values_create(side, options, &values);

	return err ? err : create(side->recording, symbolized, values, options, ret);
}

struct err *flame_create_change(const struct flame_side sides[DIFF_SIDES], enum diff_show show,
				struct symbolized *symbolized, const struct flame_options *options,
				struct flame **ret)
{
	auto_free struct flame_value *values = NULL;
	struct err *err = flame_values_create_change(sides, show, options, &values);

	if (err)
		return err;
	return create(sides[DIFF_AFTER].recording, symbolized, values, options, ret);
}
