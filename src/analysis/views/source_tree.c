#include "analysis/views/source_tree.h"

#include <string.h>

#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "hosted/intern.h"
#include "hosted/map.h"
#include "hosted/vec.h"

struct builder {
	const struct recording *recording;
	struct symbolized *symbolized;
	const struct stack_node *stacks;
	struct intern places; /* keys of places, as text */
	struct buf text;
	struct map numbers;   /* from the address of an interned place to its number */
	struct map children;  /* from parent and number of the place to node */
	struct map of_frame;  /* from a frame to the first of its lines */
	VEC(uint32_t) lines;  /* numbers of places; a frame's lines follow each other */
	VEC(uint32_t) path;   /* stack nodes, innermost first */
	uint32_t *by_stack;   /* for each stack node its tree node; 0: not made yet */
	uint32_t *last_child; /* for each tree node, while the tree grows */
	size_t last_capacity;
	VEC(struct source_node) nodes;
};

static void builder_deinit(struct builder *builder)
{
	intern_deinit(&builder->places);
	buf_deinit(&builder->text);
	map_deinit(&builder->numbers);
	map_deinit(&builder->children);
	map_deinit(&builder->of_frame);
	vec_deinit(&builder->lines);
	vec_deinit(&builder->path);
	free(builder->by_stack);
	free(builder->last_child);
	vec_deinit(&builder->nodes);
}

void source_tree_destroy(struct source_tree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	free(tree);
}

static struct err *number_of(struct builder *builder, const struct named_frame *frame,
			     uint32_t *ret)
{
	const char *place;
	uint64_t *number;

	builder->text.size = 0;
	if (frame->file && frame->line)
		buf_printf(&builder->text, "%s:%u", frame->file, frame->line);
	else if (frame->has_symbol)
		buf_printf(&builder->text, " %s", frame->function);
	else
		buf_printf(&builder->text, "%llx", (unsigned long long)frame->address);
	if (!buf_string(&builder->text))
		return buf_finish(&builder->text);
	place = intern_bytes(&builder->places, builder->text.data, builder->text.size);
	number = place ? map_put(&builder->numbers, (uint64_t)(uintptr_t)place) : NULL;
	if (!number)
		return err_no_memory();
	if (*number == MAP_NONE)
		*number = builder->numbers.count - 1;
	*ret = (uint32_t)*number;
	return NULL;
}

/* *ret: the places of a frame, innermost first, valid until the next call. */
static struct err *places_of(struct builder *builder, uint32_t frame, const uint32_t **ret,
			     size_t *count)
{
	uint64_t first = map_get(&builder->of_frame, frame), *place;
	const struct named_frame *named;
	size_t lines;
	struct err *err = symbolized_frame(builder->symbolized, frame, &named, &lines);

	if (!err && first == MAP_NONE) {
		first = builder->lines.count;
		if (!vec_reserve(&builder->lines, lines))
			return err_no_memory();
		for (size_t i = 0; !err && i < lines; i++)
			err = number_of(builder, &named[i],
					&builder->lines.items[builder->lines.count++]);
		place = err ? NULL : map_put(&builder->of_frame, frame);
		if (!err && !place)
			err = err_no_memory();
		if (place)
			*place = first;
	}
	if (err)
		return err;
	*ret = builder->lines.items + first;
	*count = lines;
	return NULL;
}

static struct err *append(struct builder *builder, struct source_node node, uint32_t *ret)
{
	uint32_t index = (uint32_t)builder->nodes.count;

	node.first_child = node.next_sibling = RECORDING_NONE;
	node.first_ns = UINT64_MAX;
	if (index == RECORDING_NONE || !vec_push(&builder->nodes, node))
		return err_no_memory();
	if (index >= builder->last_capacity &&
	    !vec_grow((void **)&builder->last_child, &builder->last_capacity, index, 1,
		      sizeof(*builder->last_child)))
		return err_no_memory();
	builder->last_child[index] = RECORDING_NONE;
	if (node.parent != RECORDING_NONE) {
		uint32_t last = builder->last_child[node.parent];

		if (last == RECORDING_NONE)
			builder->nodes.items[node.parent].first_child = index;
		else
			builder->nodes.items[last].next_sibling = index;
		builder->last_child[node.parent] = index;
	}
	*ret = index;
	return NULL;
}

/* Steps from *at to the tree node below it for a stack node. */
static struct err *descend(struct builder *builder, uint32_t stack, uint32_t *at)
{
	uint32_t frame = builder->stacks[stack].frame;
	const uint32_t *places = NULL;
	struct err *err;
	size_t count = 0;

	err = places_of(builder, frame, &places, &count);
	while (!err && count--) {
		uint64_t *child = map_put(&builder->children, (uint64_t)*at << 32 | places[count]);
		uint32_t made = 0;

		if (!child)
			return err_no_memory();
		if (*child == MAP_NONE) {
			err = append(builder,
				     (struct source_node){.frame = frame,
							  .line = (uint32_t)count,
							  .parent = *at},
				     &made);
			if (err)
				return err;
			*child = made;
		}
		*at = (uint32_t)*child;
	}
	builder->by_stack[stack] = *at;
	return err;
}

/* Makes the nodes of a site's stack that are not there yet. *ret: the innermost. */
static struct err *place_stack(struct builder *builder, uint32_t stack, uint32_t *ret)
{
	struct err *err = NULL;
	uint32_t at = stack;

	builder->path.count = 0;
	while (at != RECORDING_NONE && !builder->by_stack[at]) {
		if (!vec_push(&builder->path, at))
			return err_no_memory();
		at = builder->stacks[at].parent;
	}
	*ret = at == RECORDING_NONE ? 0 : builder->by_stack[at];
	for (size_t i = builder->path.count; !err && i-- > 0;)
		err = descend(builder, builder->path.items[i], ret);
	return err;
}

static void add(struct source_node *node, const struct source_node *more)
{
	node->size += more->size;
	node->calls += more->calls;
	if (more->first_ns < node->first_ns)
		node->first_ns = more->first_ns;
	if (more->last_ns > node->last_ns)
		node->last_ns = more->last_ns;
}

static int by_first(const void *left, const void *right, void *argument)
{
	const struct site_sums *sums = argument;
	const struct site_sums *a = &sums[*(const uint32_t *)left];
	const struct site_sums *b = &sums[*(const uint32_t *)right];

	if (a->span.first_ns != b->span.first_ns)
		return a->span.first_ns < b->span.first_ns ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static struct err *build(struct builder *builder, const struct site_sums *sums)
{
	uint32_t site_count, stack_count, used = 0, root;
	const struct site *sites = recording_sites(builder->recording, &site_count);
	auto_free uint32_t *order = malloc(((size_t)site_count + 1) * sizeof(*order));
	struct err *err;

	builder->stacks = recording_stacks(builder->recording, &stack_count);
	builder->by_stack = calloc((size_t)stack_count + 1, sizeof(*builder->by_stack));
	if (!order || !builder->by_stack)
		return err_no_memory();
	for (uint32_t i = 0; i < site_count; i++)
		if (sums[i].calls)
			order[used++] = i;
	qsort_r(order, used, sizeof(*order), by_first, (void *)sums);
	err = append(builder,
		     (struct source_node){.frame = RECORDING_NONE, .parent = RECORDING_NONE},
		     &root);
	for (uint32_t i = 0; !err && i < used; i++) {
		const struct site_sums *site = &sums[order[i]];
		uint32_t node = 0;

		err = place_stack(builder, sites[order[i]].stack, &node);
		if (!err)
			add(&builder->nodes.items[node],
			    &(struct source_node){.size = site->size,
						  .calls = site->calls,
						  .first_ns = site->span.first_ns,
						  .last_ns = site->span.last_ns});
	}
	for (size_t i = builder->nodes.count; !err && i-- > 1;)
		add(&builder->nodes.items[builder->nodes.items[i].parent],
		    &builder->nodes.items[i]);
	return err;
}

struct err *source_tree_create(const struct recording *recording, struct symbolized *symbolized,
			       const struct site_sums *sums, struct source_tree **ret)
{
	cleanup(builder_deinit) struct builder builder = {.recording = recording,
							  .symbolized = symbolized};
	struct source_tree *tree;
	struct err *err;

	buf_init(&builder.text);
	err = build(&builder, sums);
	if (err)
		return err;
	tree = malloc(sizeof(*tree));
	if (!tree)
		return err_no_memory();
	*tree = (struct source_tree){.count = (uint32_t)builder.nodes.count};
	tree->nodes = steal(&builder.nodes.items);
	if (tree->nodes[0].first_ns == UINT64_MAX)
		tree->nodes[0].first_ns = 0; /* an empty tree */
	*ret = tree;
	return NULL;
}
