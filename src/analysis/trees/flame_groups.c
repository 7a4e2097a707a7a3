#include "analysis/trees/flame_groups.h"

#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"

void flame_groups_deinit(struct flame_groups *groups)
{
	tree_destroy(groups->tree);
	free(groups->own);
	free(groups->all);
	vec_deinit(&groups->items);
	vec_deinit(&groups->children);
	free(groups->child_of_label);
}

static void add_value(struct flame_value *value, const struct flame_value *more)
{
	value->value += more->value;
	for (int side = 0; side < DIFF_SIDES; side++)
		value->sides[side] += more->sides[side];
	value->blocks += more->blocks;
	value->leaked += more->leaked;
	value->lived_ns += more->lived_ns;
	value->calls += more->calls;
	value->temporary += more->temporary;
}

/* values: of each site. */
static struct err *make_tree(struct flame_groups *groups, const struct recording *recording,
			     struct symbolized *symbolized, const struct flame_value *values,
			     const struct flame_options *options)
{
	auto_free struct site *shown = NULL;
	uint32_t count;
	const struct site *sites = recording_sites(recording, &count);

	shown = calloc((size_t)count + 1, sizeof(*shown));
	if (!shown)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		shown[i] = (struct site){
			.stack = sites[i].stack,
			// Only what weighs something has a place in the tree.
			.total_bytes = values[i].value + values[i].calls,
		};
	return tree_create_shaped(recording, symbolized, shown, count, METRIC_TOTAL,
				  &options->shape, &groups->tree);
}

struct err *flame_groups_init(struct flame_groups *groups, const struct recording *recording,
			      struct symbolized *symbolized, const struct flame_value *values,
			      const struct flame_options *options)
{
	const struct tree *tree;
	struct err *err;
	uint32_t count;

	*groups = (struct flame_groups){.callers = options->callers, .focus = options->focus};
	err = make_tree(groups, recording, symbolized, values, options);
	if (err)
		return err;
	tree = groups->tree;
	groups->own = calloc(tree->count, sizeof(*groups->own));
	groups->all = malloc(tree->count * sizeof(*groups->all));
	groups->child_of_label = calloc((size_t)tree->labels + 1, sizeof(*groups->child_of_label));
	if (!groups->own || !groups->all || !groups->child_of_label)
		return err_no_memory();
	recording_sites(recording, &count);
	// What weighs nothing has no place in the tree, but its blocks count: malloc(0) makes some.
	for (uint32_t i = 0; i < count; i++)
		add_value(&groups->own[tree->leaves[i] == RECORDING_NONE ? 0 : tree->leaves[i]],
			  &values[i]);
	memcpy(groups->all, groups->own, tree->count * sizeof(*groups->all));
	for (uint32_t i = tree->count; i-- > 1;)
		add_value(&groups->all[tree->nodes[i].parent], &groups->all[i]);
	return NULL;
}

static const struct flame_value *sums_of(const struct flame_groups *groups,
					 const struct flame_item *item)
{
	bool whole = !groups->callers || groups->focus;

	return whole ? &groups->all[item->from] : &groups->own[item->from];
}

static struct err *add_item(struct flame_groups *groups, struct flame_group *group,
			    struct flame_item item)
{
	add_value(&group->sums, sums_of(groups, &item));
	group->items++;
	return vec_push(&groups->items, item) ? NULL : err_no_memory();
}

/* The outermost nodes with the label, and what comes after them. */
static struct err *begin_at_focus(struct flame_groups *groups, struct flame_group *group)
{
	const struct tree_node *nodes = groups->tree->nodes;
	auto_free bool *inside = calloc(groups->tree->count, sizeof(*inside));
	struct err *err = NULL;

	if (!inside)
		return err_no_memory();
	for (uint32_t i = 1; !err && i < groups->tree->count; i++) {
		bool found = nodes[i].value && strcmp(nodes[i].label, groups->focus) == 0;

		inside[i] = inside[nodes[i].parent] || found;
		if (!found || inside[nodes[i].parent])
			continue;
		if (!group->items)
			group->tree_node = i;
		err = add_item(groups, group,
			       (struct flame_item){groups->callers ? nodes[i].parent : i, i});
	}
	return err;
}

struct err *flame_groups_begin(struct flame_groups *groups, struct flame_group *group)
{
	struct err *err = NULL;

	if (groups->focus)
		return begin_at_focus(groups, group);
	if (!groups->callers)
		return add_item(groups, group, (struct flame_item){0, 0});
	for (uint32_t i = 0; !err && i < groups->tree->count; i++)
		if (groups->own[i].value || groups->own[i].blocks || groups->own[i].calls)
			err = add_item(groups, group, (struct flame_item){i, i});
	return err;
}

/* Adds an item's way to its next node to the children. */
static struct err *add_step(struct flame_groups *groups, const struct flame_group *group,
			    uint32_t node, uint32_t from)
{
	const struct tree_node *stepped = &groups->tree->nodes[node];
	uint32_t *place = &groups->child_of_label[stepped->number];
	const struct flame_item item = {.from = from};
	struct flame_group *child;

	if (!*place) {
		const struct flame_group begun = {
			.tree_node = node,
			.from = from,
			.steps = group->steps + 1,
		};

		if (!vec_push(&groups->children, begun))
			return err_no_memory();
		*place = (uint32_t)groups->children.count;
	}
	child = &groups->children.items[*place - 1];
	add_value(&child->sums, sums_of(groups, &item));
	child->items++;
	if (child->folded < stepped->folded)
		child->folded = stepped->folded;
	return NULL;
}

struct err *flame_groups_find(struct flame_groups *groups, const struct flame_group *group,
			      uint64_t *own)
{
	const struct tree_node *nodes = groups->tree->nodes;
	struct err *err = NULL;

	groups->children.count = 0;
	*own = 0;
	for (uint64_t i = group->first; !err && i < group->first + group->items; i++) {
		struct flame_item item = groups->items.items[i];

		if (groups->callers) {
			if (item.at)
				err = add_step(groups, group, item.at, item.from);
			else
				*own += sums_of(groups, &item)->value;
			continue;
		}
		*own += groups->own[item.at].value;
		for (uint32_t child = nodes[item.at].first_child; !err && child != RECORDING_NONE;
		     child = nodes[child].next_sibling)
			err = add_step(groups, group, child, child);
	}
	return err;
}

void flame_groups_leave(struct flame_groups *groups)
{
	for (size_t i = 0; i < groups->children.count; i++) {
		uint32_t node = groups->children.items[i].tree_node;

		groups->child_of_label[groups->tree->nodes[node].number] = 0;
	}
}

/* Puts the way to the next node into its child, unless that is none that is wanted. */
static void place_step(struct flame_groups *groups, uint32_t node, struct flame_item item,
		       const bool *wanted)
{
	uint32_t number = groups->tree->nodes[node].number;
	struct flame_group *child = &groups->children.items[groups->child_of_label[number] - 1];

	if (wanted[child - groups->children.items])
		groups->items.items[child->first + child->items++] = item;
}

struct err *flame_groups_place(struct flame_groups *groups, const struct flame_group *group,
			       const bool *wanted)
{
	const struct tree_node *nodes = groups->tree->nodes;
	uint64_t end = groups->items.count;

	for (size_t i = 0; i < groups->children.count; i++) {
		struct flame_group *child = &groups->children.items[i];

		if (!wanted[i])
			continue;
		child->first = end;
		end += child->items;
		child->items = 0;
	}
	if (!vec_reserve(&groups->items, end - groups->items.count))
		return err_no_memory();
	groups->items.count = end;
	for (uint64_t i = group->first; i < group->first + group->items; i++) {
		struct flame_item item = groups->items.items[i];

		if (groups->callers) {
			if (item.at)
				place_step(groups, item.at,
					   (struct flame_item){nodes[item.at].parent, item.from},
					   wanted);
			continue;
		}
		for (uint32_t child = nodes[item.at].first_child; child != RECORDING_NONE;
		     child = nodes[child].next_sibling)
			place_step(groups, child, (struct flame_item){child, child}, wanted);
	}
	return NULL;
}

struct err *flame_groups_descend(struct flame_groups *groups, struct flame_group *group,
				 uint32_t number)
{
	auto_free bool *wanted = NULL;
	struct flame_group found = {0};
	struct err *err;
	uint64_t own;
	uint32_t place;

	err = flame_groups_find(groups, group, &own);
	place = groups->child_of_label[number];
	wanted = calloc(groups->children.count + 1, sizeof(*wanted));
	if (!err && !wanted)
		err = err_no_memory();
	if (!err && place) {
		wanted[place - 1] = true;
		err = flame_groups_place(groups, group, wanted);
		found = groups->children.items[place - 1];
	}
	flame_groups_leave(groups);
	*group = found;
	return err;
}
