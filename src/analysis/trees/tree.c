#include "analysis/trees/tree.h"

#include <string.h>

#include "analysis/trees/tree_nodes.h"
#include "hosted/cleanup.h"
#include "hosted/intern.h"

/*
 * Labels are those of frame_label.h. Inlined functions are levels of their own. Nodes of the stack
 * trie are visited once, parents first, so a long common part is not walked for each site. A tree
 * node is made after its parent, so one pass from the last node to the first adds sums to parents.
 */

struct tree_impl {
	struct tree tree;
	struct intern labels;
	uint32_t *leaves;
};

/* The frames at the end of a stack for which its tree node stands. */
struct run {
	uint32_t length;
	bool plumbing; /* it may become longer by plumbing */
};

struct builder {
	const struct recording *recording;
	const struct stack_node *stacks;
	uint32_t stack_count;
	struct tree_nodes nodes;
	uint32_t *by_stack; /* for each stack node its tree node; 0: none (yet) */
	bool *needed;       /* for each stack node: sites with a value have it */
	struct tree_shape shape;
	struct run *runs; /* for each stack node: the run that it ends in */
	bool *own;        /* for each stack node: own code is in it, above or below; NULL: whole */
};

static void builder_deinit(struct builder *builder)
{
	tree_nodes_deinit(&builder->nodes);
	free(builder->by_stack);
	free(builder->needed);
	free(builder->runs);
	free(builder->own);
}

void tree_destroy(struct tree *tree)
{
	struct tree_impl *impl = (struct tree_impl *)tree;

	if (!tree)
		return;
	free(tree->nodes);
	free(impl->leaves);
	intern_deinit(&impl->labels);
	free(impl);
}

static void note_folded(struct tree_node *node, uint32_t frames)
{
	if (node->folded < frames)
		node->folded = frames;
}

/* Whether a line belongs to the node of the line before it. */
static bool joins(const struct builder *builder, const struct label_line *line, uint32_t at,
		  const struct run *run, bool plumbing)
{
	if (plumbing && run->plumbing)
		return true;
	return at &&
	       (builder->shape.merge == TREE_BY_FILE || builder->shape.merge == TREE_BY_MODULE) &&
	       builder->nodes.all.items[at].number == line->number;
}

/*
 * Steps back from *at to the node with the line's label, if the stack has one. It then stands for
 * what is between them, too.
 */
static bool step_back(struct builder *builder, const struct label_line *line, uint32_t *at)
{
	struct tree_node *nodes = builder->nodes.all.items;
	uint32_t frames = 2;

	for (uint32_t i = *at; i; i = nodes[i].parent, frames++) {
		if (nodes[i].number != line->number)
			continue;
		note_folded(&nodes[i], frames);
		*at = i;
		return true;
	}
	return false;
}

/*
 * Whether a folded line is a part of the function at *at, and no node: what the interpreter does
 * for a script's function, and all that an import statement calls, which says whom it is for.
 */
static bool is_of_script(const struct builder *builder, const struct named_frame *frame,
			 uint32_t at)
{
	const struct named_frame *function = at ? builder->nodes.all.items[at].frame : NULL;

	return function && function->script && named_frame_is_own(function) &&
	       (function->import || named_frame_is_interpreter(frame));
}

/* Steps from *at to the node of a line. folds: whether plumbing is folded in this stack. */
static struct err *step(struct builder *builder, const struct label_line *line, uint32_t *at,
			struct run *run, bool folds)
{
	bool plumbing = folds && line->frame->plumbing;

	if (plumbing && is_of_script(builder, line->frame, *at))
		return NULL;
	if (joins(builder, line, *at, run, plumbing)) {
		note_folded(&builder->nodes.all.items[*at], ++run->length);
		return NULL;
	}
	*run = (struct run){.length = 1, .plumbing = plumbing};
	if (builder->shape.recursion && step_back(builder, line, at))
		return NULL;
	return tree_nodes_child(&builder->nodes, *at, line, at);
}

static struct err *place_stack(struct builder *builder, uint32_t stack)
{
	const struct stack_node *node = &builder->stacks[stack];
	bool outermost = node->parent == RECORDING_NONE;
	bool folds = builder->own && builder->own[stack];
	uint32_t at = outermost ? 0 : builder->by_stack[node->parent];
	struct run run = outermost ? (struct run){0} : builder->runs[node->parent];
	const struct label_line *lines;
	struct err *err;
	size_t count;

	err = tree_nodes_lines(&builder->nodes, node->frame, &lines, &count);
	while (!err && count--)
		err = step(builder, &lines[count], &at, &run, folds);
	builder->by_stack[stack] = at;
	builder->runs[stack] = run;
	return err;
}

/* Finds which stack nodes have own code in them, above them or below them. */
static struct err *find_own(struct builder *builder)
{
	const struct stack_node *stacks = builder->stacks;
	auto_free bool *above = calloc((size_t)builder->stack_count + 1, sizeof(*above));

	builder->own = calloc((size_t)builder->stack_count + 1, sizeof(*builder->own));
	if (!above || !builder->own)
		return err_no_memory();
	for (uint32_t i = 0; i < builder->stack_count; i++) {
		const struct label_line *lines;
		struct err *err;
		size_t count;

		if (!builder->needed[i])
			continue;
		err = tree_nodes_lines(&builder->nodes, stacks[i].frame, &lines, &count);
		if (err)
			return err;
		above[i] = stacks[i].parent != RECORDING_NONE && above[stacks[i].parent];
		while (!above[i] && count)
			above[i] = named_frame_is_own(lines[--count].frame);
	}
	for (uint32_t i = builder->stack_count; i-- > 0;) {
		builder->own[i] |= above[i];
		if (builder->own[i] && stacks[i].parent != RECORDING_NONE)
			builder->own[stacks[i].parent] = true;
	}
	return NULL;
}

static void mark_needed(struct builder *builder, const struct site *sites, uint32_t count,
			enum metric metric)
{
	for (uint32_t i = 0; i < count; i++)
		if (sites[i].stack != RECORDING_NONE && metric_of_site(metric, &sites[i]))
			builder->needed[sites[i].stack] = true;
	for (uint32_t i = builder->stack_count; i-- > 0;)
		if (builder->needed[i] && builder->stacks[i].parent != RECORDING_NONE)
			builder->needed[builder->stacks[i].parent] = true;
}

static struct err *make_nodes(struct builder *builder)
{
	struct err *err = tree_nodes_begin(&builder->nodes);

	for (uint32_t i = 0; !err && i < builder->stack_count; i++)
		if (builder->needed[i])
			err = place_stack(builder, i);
	return err;
}

static void add_up(struct builder *builder, const struct site *sites, uint32_t count,
		   enum metric metric, uint32_t *leaves)
{
	struct tree_node *nodes = builder->nodes.all.items;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t value = metric_of_site(metric, &sites[i]);
		uint32_t at =
			sites[i].stack == RECORDING_NONE ? 0 : builder->by_stack[sites[i].stack];

		leaves[i] = value ? at : RECORDING_NONE;
		if (!value)
			continue;
		nodes[at].self += value;
		nodes[at].value += value;
		nodes[at].calls += sites[i].calls;
	}
	for (size_t i = builder->nodes.all.count; i-- > 1;) {
		nodes[nodes[i].parent].value += nodes[i].value;
		nodes[nodes[i].parent].calls += nodes[i].calls;
	}
}

static struct err *build(struct builder *builder, const struct site *sites, uint32_t site_count,
			 enum metric metric, uint32_t *leaves)
{
	struct err *err;

	builder->stacks = recording_stacks(builder->recording, &builder->stack_count);
	builder->by_stack = calloc((size_t)builder->stack_count + 1, sizeof(*builder->by_stack));
	builder->needed = calloc((size_t)builder->stack_count + 1, sizeof(*builder->needed));
	builder->runs = calloc((size_t)builder->stack_count + 1, sizeof(*builder->runs));
	if (!builder->by_stack || !builder->needed || !builder->runs)
		return err_no_memory();
	mark_needed(builder, sites, site_count, metric);
	err = builder->shape.plumbing ? find_own(builder) : NULL;
	if (!err)
		err = make_nodes(builder);
	if (err)
		return err;
	add_up(builder, sites, site_count, metric, leaves);
	return tree_nodes_link(&builder->nodes);
}

struct err *tree_create_shaped(const struct recording *recording, struct symbolized *symbolized,
			       const struct site *sites, uint32_t count, enum metric metric,
			       const struct tree_shape *shape, struct tree **ret)
{
	cleanup(builder_deinit) struct builder builder = {.recording = recording, .shape = *shape};
	struct tree_impl *impl = calloc(1, sizeof(*impl));
	cleanup(tree_destroy_at) struct tree *tree = impl ? &impl->tree : NULL;
	struct err *err;

	if (!impl)
		return err_no_memory();
	impl->leaves = malloc(((size_t)count + 1) * sizeof(*impl->leaves));
	if (!impl->leaves)
		return err_no_memory();
	builder.nodes.labels = (struct tree_labels){
		.symbolized = symbolized,
		.merge = shape->merge,
		.strings = &impl->labels,
		.buf = BUF_EMPTY,
	};
	err = build(&builder, sites, count, metric, impl->leaves);
	if (err)
		return err;
	tree->count = (uint32_t)builder.nodes.all.count;
	tree->nodes = steal(&builder.nodes.all.items);
	tree->labels = (uint32_t)builder.nodes.labels.numbers.count;
	tree->leaves = impl->leaves;
	*ret = steal(&tree);
	return NULL;
}

struct err *tree_create_of_sites(const struct recording *recording, struct symbolized *symbolized,
				 const struct site *sites, uint32_t count, enum metric metric,
				 enum tree_fold fold, struct tree **ret)
{
	const struct tree_shape shape = {.merge = TREE_BY_LABEL, .plumbing = fold == TREE_FOLDED};

	return tree_create_shaped(recording, symbolized, sites, count, metric, &shape, ret);
}

struct err *tree_create(const struct recording *recording, struct symbolized *symbolized,
			enum metric metric, enum tree_fold fold, struct tree **ret)
{
	uint32_t count;
	const struct site *sites = recording_sites(recording, &count);

	return tree_create_of_sites(recording, symbolized, sites, count, metric, fold, ret);
}
