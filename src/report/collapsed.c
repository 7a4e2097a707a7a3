#include "report/collapsed.h"

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

/* Readers split at ';' and at the last space: the first becomes ':', spaces are fine. */
static void put_label(struct buf *buf, const char *label)
{
	cleanup(buf_deinit) struct buf safe;

	buf_init(&safe);
	style_safe_text(&safe, label, strlen(label));
	for (size_t i = 0; i < safe.size; i++)
		buf_char(buf, safe.data[i] == ';' ? ':' : safe.data[i]);
}

static struct err *put_stack(struct buf *buf, const struct tree *tree, uint32_t leaf,
			     struct path *path)
{
	path->nodes.count = 0;
	for (uint32_t i = leaf; i != RECORDING_NONE && i != 0; i = tree->nodes[i].parent) {
		if (!vec_push(&path->nodes, i))
			return err_no_memory();
	}
	for (size_t i = path->nodes.count; i-- > 0;) {
		put_label(buf, tree->nodes[path->nodes.items[i]].label);
		buf_char(buf, i ? ';' : ' ');
	}
	if (!path->nodes.count)
		buf_text(buf, "[no stack] ");
	buf_printf(buf, "%" PRIu64 "\n", tree->nodes[leaf].self);
	return NULL;
}

struct err *collapsed_write(struct buf *buf, const struct tree *tree)
{
	cleanup(path_deinit) struct path path = {VEC_EMPTY};
	struct err *err = NULL;

	for (uint32_t i = 0; i < tree->count && !err; i++) {
		if (tree->nodes[i].self)
			err = put_stack(buf, tree, i, &path);
	}
	return err;
}
