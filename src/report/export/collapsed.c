#include "report/export/collapsed.h"

#include <inttypes.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "report/style.h"

struct path {
	VEC(uint32_t) nodes; /* innermost first */
};

static void path_deinit(struct path *path)
{
	vec_deinit(&path->nodes);
}

/* Readers split a line at ';' and at its last space. So ';' becomes ':'; spaces may stay. */
static void put_label(struct buf *buf, const char *label)
{
	cleanup(buf_deinit) struct buf safe = BUF_EMPTY;

	style_safe_text(&safe, label, strlen(label));
	for (size_t i = 0; i < safe.size; i++)
		buf_char(buf, safe.data[i] == ';' ? ':' : safe.data[i]);
}

typedef void put_node(struct buf *buf, const struct tree_node *node);

static void put_own(struct buf *buf, const struct tree_node *node)
{
	put_label(buf, node->label);
}

static void put_with_library(struct buf *buf, const struct tree_node *node)
{
	const struct named_frame *frame = node->frame;

	if (frame->has_symbol)
		put_label(buf, frame->function);
	else
		buf_printf(buf, "0x%016" PRIX64, frame->address);
	buf_text(buf, " [");
	put_label(buf, frame->module_name ? frame->module_name : "???");
	buf_char(buf, ']');
}

static struct err *put_stack(struct buf *buf, const struct tree *tree, uint32_t leaf, put_node *put,
			     struct path *path)
{
	path->nodes.count = 0;
	for (uint32_t i = leaf; i != RECORDING_NONE && i != 0; i = tree->nodes[i].parent) {
		if (!vec_push(&path->nodes, i))
			return err_no_memory();
	}
	for (size_t i = path->nodes.count; i-- > 0;) {
		put(buf, &tree->nodes[path->nodes.items[i]]);
		buf_char(buf, i ? ';' : ' ');
	}
	if (!path->nodes.count)
		buf_text(buf, "[no stack] ");
	buf_printf(buf, "%" PRIu64 "\n", tree->nodes[leaf].self);
	return NULL;
}

static struct err *write_stacks(struct buf *buf, const struct tree *tree, put_node *put)
{
	cleanup(path_deinit) struct path path = {VEC_EMPTY};
	struct err *err = NULL;

	for (uint32_t i = 0; i < tree->count && !err; i++) {
		if (tree->nodes[i].self)
			err = put_stack(buf, tree, i, put, &path);
	}
	return err;
}

struct err *collapsed_write(struct buf *buf, const struct tree *tree)
{
	return write_stacks(buf, tree, put_own);
}

struct err *collapsed_write_libraries(struct buf *buf, const struct tree *tree)
{
	return write_stacks(buf, tree, put_with_library);
}
