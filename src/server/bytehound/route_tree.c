/*
 * /allocation_ascii_tree and /tree: matching blocks by places in the source, in the order of their
 * first allocation.
 */
#include <stdlib.h>

#include "analysis/views/source_tree.h"
#include "hosted/cleanup.h"
#include "report/text/ascii_tree.h"
#include "server/routes/route.h"
#include "server/data/selection.h"

/* *ret: the tree; NULL if the request was refused. Call it under the lock. */
static struct err *find_tree(struct request *request, struct reply *reply, struct source_tree **ret)
{
	cleanup(selection_release_at) struct selection *selection = NULL;
	struct dataset *dataset = request->dataset;
	const struct site_sums *sums;
	struct err *err;

	err = request_select(request, reply, &selection);
	if (err || !selection)
		return err;
	err = selection_sums(dataset, selection, &sums);
	return err ? err : source_tree_create(dataset->recording, dataset->symbolized, sums, ret);
}

/* A tree of which some nodes are written already. */
struct writing {
	struct dataset *dataset;
	struct source_tree *tree;
	struct ascii_tree *ascii; /* NULL: JSON, with what follows */
	uint32_t at;              /* the node to be written next */
	bool strip;
};

static void drop_writing(void *state)
{
	struct writing *writing = state;

	ascii_tree_destroy(writing->ascii);
	source_tree_destroy(writing->tree);
	dataset_release(writing->dataset);
	free(writing);
}

/* Writes a node, but not its children: trees may be deeper than the JSON writer can nest. */
static struct err *open_node(struct buf *buf, const struct writing *writing)
{
	const struct source_node *node = &writing->tree->nodes[writing->at];
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
		err = frame_json_put_line(&writing->dataset->frames[writing->strip], &json,
					  node->frame, node->line);
	buf_text(buf, ",\"children\":[");
	return err;
}

/* Steps to the node after the one that was opened. false: that was the last. */
static bool next_node(struct buf *buf, struct writing *writing)
{
	const struct source_node *nodes = writing->tree->nodes;
	uint32_t at = writing->at;

	if (nodes[at].first_child != RECORDING_NONE) {
		writing->at = nodes[at].first_child;
		return true;
	}
	buf_text(buf, "]}");
	while (at && nodes[at].next_sibling == RECORDING_NONE) {
		at = nodes[at].parent;
		buf_text(buf, "]}");
	}
	if (!at)
		return false;
	buf_char(buf, ',');
	writing->at = nodes[at].next_sibling;
	return true;
}

static struct err *make_tree(void *state, struct buf *buf, bool *done)
{
	struct writing *writing = state;
	struct err *err = NULL;

	dataset_lock(writing->dataset);
	while (!err && !*done && buf->size < BODY_PIECE) {
		err = open_node(buf, writing);
		*done = !next_node(buf, writing);
	}
	dataset_unlock(writing->dataset);
	return err;
}

static struct err *make_ascii(void *state, struct buf *buf, bool *done)
{
	struct writing *writing = state;
	struct err *err;

	dataset_lock(writing->dataset);
	err = ascii_tree_more(writing->ascii, buf, BODY_PIECE, done);
	dataset_unlock(writing->dataset);
	return err;
}

static struct err *answer_tree(struct request *request, struct reply *reply, body_make *make)
{
	struct writing *writing = calloc(1, sizeof(*writing));
	struct err *err;

	if (!writing)
		return err_no_memory();
	writing->dataset = dataset_hold(request->dataset);
	writing->strip = request_strips(request);
	dataset_lock(writing->dataset);
	err = find_tree(request, reply, &writing->tree);
	dataset_unlock(writing->dataset);
	if (!err && writing->tree && make == make_ascii)
		err = ascii_tree_create(writing->dataset->symbolized, writing->tree, writing->strip,
					&writing->ascii);
	if (err || !writing->tree) {
		drop_writing(writing);
		return err;
	}
	return reply_pieces(reply, make, writing, drop_writing);
}

struct err *route_tree(struct request *request, struct reply *reply)
{
	return answer_tree(request, reply, make_tree);
}

struct err *route_allocation_ascii_tree(struct request *request, struct reply *reply)
{
	return answer_tree(request, reply, make_ascii);
}
