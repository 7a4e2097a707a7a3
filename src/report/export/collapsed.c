#include "report/export/collapsed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "report/words/style.h"

/* A frame of the present stack, and where its text ends in the line. */
struct level {
	uint32_t node;
	size_t end;
};

/*
 * A line begins as the one before it does, as far as their stacks are the same: only the frames
 * behind that are made anew.
 *
 *	line    main;parse;read_body;   and a value
 *	            ^     ^         ^   levels[0 … 2].end
 */
struct collapsed {
	const struct tree *tree;
	enum collapsed_form form;
	uint32_t next; /* the node to look at */
	struct buf line;
	VEC(struct level) levels; /* outermost first, without the root */
	VEC(uint32_t) path;       /* the frames to be made, innermost first */
	uint32_t *depths;         /* of each node: its index in levels; the root has none */
};

void collapsed_destroy(struct collapsed *collapsed)
{
	if (!collapsed)
		return;
	buf_deinit(&collapsed->line);
	vec_deinit(&collapsed->levels);
	vec_deinit(&collapsed->path);
	free(collapsed->depths);
	free(collapsed);
}
CLEANUP_DEFINE(struct collapsed *, collapsed_destroy);

struct err *collapsed_create(const struct tree *tree, enum collapsed_form form,
			     struct collapsed **ret)
{
	cleanup(collapsed_destroy_at) struct collapsed *collapsed = calloc(1, sizeof(*collapsed));

	if (!collapsed)
		return err_no_memory();
	collapsed->tree = tree;
	collapsed->form = form;
	buf_init(&collapsed->line);
	collapsed->depths = calloc(tree->count, sizeof(*collapsed->depths));
	if (!collapsed->depths)
		return err_no_memory();
	for (uint32_t i = 1; i < tree->count; i++)
		if (tree->nodes[i].parent)
			collapsed->depths[i] = collapsed->depths[tree->nodes[i].parent] + 1;
	*ret = steal(&collapsed);
	return NULL;
}

/* Readers split a line at ';' and at its last space. So ';' becomes ':'; spaces may stay. */
static void put_label(struct buf *buf, const char *label)
{
	size_t begin = buf->size;
	char *at;

	style_safe_text(buf, label, strlen(label));
	for (at = buf->data + begin; begin < buf->size; begin++, at++)
		if (*at == ';')
			*at = ':';
}

static void put_with_library(struct buf *buf, const struct named_frame *frame)
{
	if (frame->has_symbol)
		put_label(buf, frame->function);
	else
		buf_printf(buf, "0x%016" PRIX64, frame->address);
	buf_text(buf, " [");
	put_label(buf, frame->module_name ? frame->module_name : "???");
	buf_char(buf, ']');
}

/* Whether the line has that node at its place. The root is in every line. */
static bool has_level(const struct collapsed *collapsed, uint32_t node)
{
	uint32_t depth = collapsed->depths[node];

	return node == 0 ||
	       (depth < collapsed->levels.count && collapsed->levels.items[depth].node == node);
}

static struct err *add_level(struct collapsed *collapsed, uint32_t index)
{
	const struct tree_node *node = &collapsed->tree->nodes[index];
	struct buf *line = &collapsed->line;

	if (collapsed->form == COLLAPSED_LABELS)
		put_label(line, node->label);
	else
		put_with_library(line, node->frame);
	buf_char(line, ';');
	return vec_push(&collapsed->levels, (struct level){index, line->size}) ? NULL
									       : err_no_memory();
}

/* Makes the line that of a node's stack. */
static struct err *set_line(struct collapsed *collapsed, uint32_t leaf)
{
	uint32_t at = leaf;
	struct err *err = NULL;

	collapsed->path.count = 0;
	for (; !has_level(collapsed, at); at = collapsed->tree->nodes[at].parent)
		if (!vec_push(&collapsed->path, at))
			return err_no_memory();
	collapsed->levels.count = at ? collapsed->depths[at] + 1 : 0;
	collapsed->line.size = at ? collapsed->levels.items[collapsed->levels.count - 1].end : 0;
	for (size_t i = collapsed->path.count; !err && i-- > 0;)
		err = add_level(collapsed, collapsed->path.items[i]);
	return err ? err : buf_finish(&collapsed->line);
}

static struct err *put_stack(struct collapsed *collapsed, struct buf *buf, uint32_t leaf)
{
	const struct buf *line = &collapsed->line;
	struct err *err = set_line(collapsed, leaf);

	if (err)
		return err;
	if (line->size)
		buf_put(buf, line->data, line->size - 1);
	else
		buf_text(buf, "[no stack]");
	buf_char(buf, ' ');
	buf_u64(buf, collapsed->tree->nodes[leaf].self);
	buf_char(buf, '\n');
	return NULL;
}

struct err *collapsed_more(struct collapsed *collapsed, struct buf *buf, size_t size, bool *done)
{
	const struct tree *tree = collapsed->tree;
	size_t before = buf->size;
	struct err *err = NULL;

	for (; !err && collapsed->next < tree->count && buf->size - before < size;
	     collapsed->next++)
		if (tree->nodes[collapsed->next].self)
			err = put_stack(collapsed, buf, collapsed->next);
	*done = collapsed->next == tree->count;
	return err;
}

struct err *collapsed_write(struct buf *buf, const struct tree *tree)
{
	cleanup(collapsed_destroy_at) struct collapsed *collapsed = NULL;
	struct err *err = collapsed_create(tree, COLLAPSED_LABELS, &collapsed);
	bool done = false;

	// A buffer with a sink empties itself: then its size says nothing, and all is one piece.
	while (!err && !done)
		err = collapsed_more(collapsed, buf, SIZE_MAX, &done);
	return err;
}
