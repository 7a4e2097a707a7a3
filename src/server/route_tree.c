/*
 * /allocation_ascii_tree and /tree: matching blocks by places in the source, in the order of their
 * first allocation.
 */
#include "analysis/views/source_tree.h"
#include "hosted/cleanup.h"
#include "report/text/ascii_tree.h"
#include "server/route.h"
#include "server/selection.h"

CLEANUP_DEFINE(struct source_tree *, source_tree_destroy);
CLEANUP_DEFINE(struct selection *, selection_release);

/* Writes a tree. Called under the lock. */
typedef struct err *put_tree(struct buf *buf, struct dataset *dataset,
			     const struct source_tree *tree, bool strip);

static struct err *put_text(struct buf *buf, struct dataset *dataset,
			    const struct source_tree *tree, bool strip)
{
	return ascii_tree_write(buf, dataset->symbolized, tree, strip);
}

/* Writes a node, but not its children: trees may be deeper than the JSON writer can nest. */
static struct err *open_node(struct buf *buf, struct dataset *dataset,
			     const struct source_node *node, bool strip)
{
	struct json_writer json;
	struct err *err = NULL;

	json_init(&json, buf, false);
	json_object(&json);
	json_field_u64(&json, "size", node->size);
	json_field_u64(&json, "count", node->calls);
	json_field_u64(&json, "first", node->first_ns / 1000000000);
	json_field_u64(&json, "last", node->last_ns / 1000000000);
	json_key(&json, "value");
	if (node->frame == RECORDING_NONE)
		json_null(&json);
	else
		err = frame_json_put_line(&dataset->frames[strip], &json, node->frame, node->line);
	buf_text(buf, ",\"children\":[");
	return err;
}

static struct err *put_json(struct buf *buf, struct dataset *dataset,
			    const struct source_tree *tree, bool strip)
{
	const struct source_node *nodes = tree->nodes;
	uint32_t at = 0;

	for (;;) {
		struct err *err = open_node(buf, dataset, &nodes[at], strip);

		if (err)
			return err;
		if (nodes[at].first_child != RECORDING_NONE) {
			at = nodes[at].first_child;
			continue;
		}
		buf_text(buf, "]}");
		while (at && nodes[at].next_sibling == RECORDING_NONE) {
			at = nodes[at].parent;
			buf_text(buf, "]}");
		}
		if (!at)
			return NULL;
		buf_char(buf, ',');
		at = nodes[at].next_sibling;
	}
}

/* Finds the tree and writes it by put. Call it under the lock. */
static struct err *write_tree(struct request *request, struct reply *reply, put_tree *put,
			      struct buf *buf)
{
	cleanup(source_tree_destroy_at) struct source_tree *tree = NULL;
	cleanup(selection_release_at) struct selection *selection = NULL;
	struct dataset *dataset = request->dataset;
	const struct site_sums *sums;
	struct err *err;

	err = request_select(request, reply, &selection);
	if (err || !selection)
		return err;
	err = selection_sums(dataset, selection, &sums);
	if (!err)
		err = source_tree_create(dataset->recording, dataset->symbolized, sums, &tree);
	return err ? err : put(buf, dataset, tree, request_strips(request));
}

static struct err *answer(struct request *request, struct reply *reply, put_tree *put)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct err *err;

	dataset_lock(request->dataset);
	err = write_tree(request, reply, put, &buf);
	dataset_unlock(request->dataset);
	return err || reply->status ? err : reply_whole(reply, &buf);
}

struct err *route_allocation_ascii_tree(struct request *request, struct reply *reply)
{
	return answer(request, reply, put_text);
}

struct err *route_tree(struct request *request, struct reply *reply)
{
	return answer(request, reply, put_json);
}
