/* /export/flamegraph and /export/flamegraph.pl: bytes by stacks of functions. */
#include <stdlib.h>

#include "analysis/trees/tree.h"
#include "hosted/cleanup.h"
#include "report/export/collapsed.h"
#include "report/export/flamegraph.h"
#include "server/routes/route.h"
#include "server/data/selection.h"

CLEANUP_DEFINE(struct tree *, tree_destroy);
CLEANUP_DEFINE(struct selection *, selection_release);

/*
 * Makes the tree of the matching blocks' bytes; nothing else is shown, so nothing else is summed.
 * Call it under the lock.
 */
static struct err *create_tree(struct dataset *dataset, struct selection *selection,
			       struct tree **ret)
{
	auto_free struct site *matched = NULL;
	const struct site_sums *sums;
	const struct site *sites;
	struct err *err;
	uint32_t count;

	if (!selection->bits)
		return tree_create(dataset->recording, dataset->symbolized, METRIC_TOTAL,
				   TREE_WHOLE, ret);
	err = selection_sums(dataset, selection, &sums);
	if (err)
		return err;
	sites = recording_sites(dataset->recording, &count);
	matched = calloc((size_t)count + 1, sizeof(*matched));
	if (!matched)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		matched[i] = (struct site){
			.stack = sites[i].stack,
			.calls = sums[i].calls,
			.total_bytes = sums[i].size,
		};
	return tree_create_of_sites(dataset->recording, dataset->symbolized, matched, count,
				    METRIC_TOTAL, TREE_WHOLE, ret);
}

/*
 * *ret: the tree of the matching blocks; NULL if the request was refused. Call it under the lock.
 */
static struct err *find_tree(struct request *request, struct reply *reply, struct tree **ret)
{
	cleanup(selection_release_at) struct selection *selection = NULL;
	struct err *err = request_select(request, reply, &selection);

	return err || !selection ? err : create_tree(request->dataset, selection, ret);
}

struct err *route_flamegraph(struct request *request, struct reply *reply)
{
	cleanup(tree_destroy_at) struct tree *tree = NULL;
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct dataset *dataset = request->dataset;
	struct err *err;

	dataset_lock(dataset);
	err = find_tree(request, reply, &tree);
	dataset_unlock(dataset);
	if (err || !tree)
		return err;
	// Nothing matched: clients expect an empty body.
	if (tree->nodes[0].value)
		err = flamegraph_write(&buf, dataset->recording, tree, METRIC_TOTAL, false);
	return err ? err : reply_whole(reply, &buf);
}

/* The lines that are left to be written. */
struct lines {
	struct dataset *dataset;
	struct tree *tree; /* its names are the data set's */
	struct collapsed *collapsed;
};

static void drop_lines(void *state)
{
	struct lines *lines = state;

	collapsed_destroy(lines->collapsed);
	tree_destroy(lines->tree);
	dataset_release(lines->dataset);
	free(lines);
}

/* Needs no lock: the tree has all names. */
static struct err *make_lines(void *state, struct buf *buf, bool *done)
{
	return collapsed_more(((struct lines *)state)->collapsed, buf, BODY_PIECE, done);
}

struct err *route_flamegraph_pl(struct request *request, struct reply *reply)
{
	struct lines *lines = calloc(1, sizeof(*lines));
	struct err *err;

	if (!lines)
		return err_no_memory();
	lines->dataset = dataset_hold(request->dataset);
	dataset_lock(lines->dataset);
	err = find_tree(request, reply, &lines->tree);
	dataset_unlock(lines->dataset);
	if (!err && lines->tree)
		err = collapsed_create(lines->tree, COLLAPSED_LIBRARIES, &lines->collapsed);
	if (err || !lines->tree) {
		drop_lines(lines);
		return err;
	}
	return reply_pieces(reply, make_lines, lines, drop_lines);
}
