#include "analysis/trees/tree_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/names/frame_label.h"
#include "hosted/cleanup.h"

#define LISTED 8 /* how many children of a node are a list */

struct err *tree_nodes_begin(struct tree_nodes *nodes)
{
	const struct tree_node root = {
		.label = "",
		.parent = RECORDING_NONE,
		.first_child = RECORDING_NONE,
		.next_sibling = RECORDING_NONE,
	};

	return vec_push(&nodes->all, root) ? NULL : err_no_memory();
}

void tree_nodes_deinit(struct tree_nodes *nodes)
{
	struct tree_labels *labels = &nodes->labels;

	vec_deinit(&nodes->all);
	map_deinit(&nodes->children);
	buf_deinit(&labels->buf);
	map_deinit(&labels->numbers);
	map_deinit(&labels->first);
	vec_deinit(&labels->lines);
	vec_deinit(&labels->counts);
}

static void put_label(struct tree_labels *labels, const struct named_frame *frame)
{
	const char *place = labels->merge == TREE_BY_FILE     ? frame->file
			    : labels->merge == TREE_BY_MODULE ? frame->module_name
							      : NULL;

	if (place) {
		frame_label_text(&labels->buf, place);
		return;
	}
	if (labels->merge == TREE_BY_LABEL)
		frame_label(&labels->buf, frame);
	else
		frame_label_of_function(&labels->buf, frame);
	if (labels->merge == TREE_BY_LINE && frame->file && frame->line) {
		buf_char(&labels->buf, ' ');
		frame_label_text(&labels->buf, frame->file);
		buf_printf(&labels->buf, ":%u", frame->line);
	}
}

static struct err *add_line(struct tree_labels *labels, const struct named_frame *frame)
{
	struct label_line line = {.frame = frame};
	uint64_t *number;

	labels->buf.size = 0;
	put_label(labels, frame);
	if (!buf_string(&labels->buf))
		return buf_finish(&labels->buf);
	line.label = intern_bytes(labels->strings, labels->buf.data, labels->buf.size);
	if (!line.label)
		return err_no_memory();
	number = map_put(&labels->numbers, (uint64_t)(uintptr_t)line.label);
	if (!number)
		return err_no_memory();
	if (*number == MAP_NONE)
		*number = labels->numbers.count - 1;
	line.number = (uint32_t)*number;
	return vec_push(&labels->lines, line) && vec_push(&labels->counts, 0) ? NULL
									      : err_no_memory();
}

static struct err *add_frame(struct tree_labels *labels, uint32_t frame, uint64_t *first)
{
	const struct named_frame *named;
	size_t count, start = labels->lines.count;
	struct err *err;

	err = symbolized_frame(labels->symbolized, frame, &named, &count);
	for (size_t i = 0; !err && i < count; i++)
		err = add_line(labels, &named[i]);
	if (err)
		return err;
	labels->counts.items[start] = (uint32_t)count;
	*first = start;
	return NULL;
}

struct err *tree_nodes_lines(struct tree_nodes *nodes, uint32_t frame,
			     const struct label_line **ret, size_t *count)
{
	struct tree_labels *labels = &nodes->labels;
	uint64_t *first = map_put(&labels->first, frame);
	struct err *err;

	if (!first)
		return err_no_memory();
	if (*first == MAP_NONE) {
		err = add_frame(labels, frame, first);
		if (err)
			return err;
	}
	*ret = &labels->lines.items[*first];
	*count = labels->counts.items[*first];
	return NULL;
}

static bool is_same_line(const struct named_frame *a, const struct named_frame *b)
{
	return a->line == b->line &&
	       (a->file == b->file || (a->file && b->file && strcmp(a->file, b->file) == 0));
}

/* Takes another line of the node: of several it shows the first in the file, whichever was met
 * first. */
static void take_line(struct tree_node *node, const struct named_frame *frame)
{
	if (is_same_line(node->frame, frame))
		return;
	node->several_lines = true;
	if (frame->file && node->frame->file && strcmp(frame->file, node->frame->file) == 0 &&
	    frame->line < node->frame->line)
		node->frame = frame;
}

/*
 * The node's child of that label. RECORDING_NONE: it has none, and *listed children are in its
 * list.
 */
static uint32_t find_child(const struct tree_nodes *nodes, uint32_t parent, uint32_t number,
			   unsigned *listed)
{
	const struct tree_node *all = nodes->all.items;
	uint32_t child = all[parent].first_child;
	uint64_t found;

	for (*listed = 0; child != RECORDING_NONE; child = all[child].next_sibling, ++*listed)
		if (all[child].number == number)
			return child;
	if (*listed < LISTED)
		return RECORDING_NONE;
	found = map_get(&nodes->children, (uint64_t)parent << 32 | number);
	return found == MAP_NONE ? RECORDING_NONE : (uint32_t)found;
}

static struct err *add_child(struct tree_nodes *nodes, uint32_t parent,
			     const struct label_line *line, bool listed, uint32_t *ret)
{
	struct tree_node node = {
		.frame = line->frame,
		.label = line->label,
		.parent = parent,
		.first_child = RECORDING_NONE,
		.next_sibling = RECORDING_NONE,
		.number = line->number,
	};
	uint64_t *place = NULL;

	if (nodes->all.count >= RECORDING_NONE)
		return err_no_memory();
	*ret = (uint32_t)nodes->all.count;
	if (listed) {
		node.next_sibling = nodes->all.items[parent].first_child;
	} else {
		place = map_put(&nodes->children, (uint64_t)parent << 32 | line->number);
		if (!place)
			return err_no_memory();
		*place = *ret;
	}
	if (!vec_push(&nodes->all, node))
		return err_no_memory();
	if (listed)
		nodes->all.items[parent].first_child = *ret;
	return NULL;
}

struct err *tree_nodes_child(struct tree_nodes *nodes, uint32_t parent,
			     const struct label_line *line, uint32_t *ret)
{
	unsigned listed;
	struct err *err = NULL;

	*ret = find_child(nodes, parent, line->number, &listed);
	if (*ret == RECORDING_NONE)
		err = add_child(nodes, parent, line, listed < LISTED, ret);
	else
		take_line(&nodes->all.items[*ret], line->frame);
	return err;
}

/* By value, descending, then by label: siblings differ in their labels. */
static int compare(const void *left, const void *right, void *argument)
{
	const struct tree_node *nodes = argument;
	const struct tree_node *a = &nodes[*(const uint32_t *)left];
	const struct tree_node *b = &nodes[*(const uint32_t *)right];

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return strcmp(a->label, b->label);
}

static void link_children(struct tree_node *nodes, uint32_t parent, uint32_t *children,
			  uint32_t count)
{
	uint32_t *link = &nodes[parent].first_child;

	if (count > 1)
		qsort_r(children, count, sizeof(*children), compare, nodes);
	// Nodes that recursion left empty come last. They are no children.
	for (uint32_t i = 0; i < count && nodes[children[i]].value; i++) {
		*link = children[i];
		link = &nodes[children[i]].next_sibling;
	}
	*link = RECORDING_NONE;
}

/*
 * Sorts each node's children on their own: most nodes have one or two, and a sort of all nodes at
 * once compares labels of nodes that are no siblings.
 */
struct err *tree_nodes_link(struct tree_nodes *made)
{
	struct tree_node *nodes = made->all.items;
	uint32_t count = (uint32_t)made->all.count;
	// First how many children, then where the next one goes, at last where they end.
	auto_free uint32_t *ends = calloc((size_t)count, sizeof(*ends));
	auto_free uint32_t *children = malloc((size_t)count * sizeof(*children));
	uint32_t begin = 0;

	if (!ends || !children)
		return err_no_memory();
	for (uint32_t i = 1; i < count; i++)
		ends[nodes[i].parent]++;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t own = ends[i];

		ends[i] = begin;
		begin += own;
	}
	for (uint32_t i = 1; i < count; i++)
		children[ends[nodes[i].parent]++] = i;
	begin = 0;
	for (uint32_t i = 0; i < count; i++) {
		link_children(nodes, i, children + begin, ends[i] - begin);
		begin = ends[i];
	}
	return NULL;
}
