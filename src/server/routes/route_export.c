/*
 * /export/heaptrack, /export/replay, /export/flamegraph and /export/flamegraph.pl: matching
 * allocations in other tools' file formats, and their bytes by stacks of functions.
 */
#include <stdlib.h>

#include "analysis/trees/tree.h"
#include "hosted/cleanup.h"
#include "report/export/collapsed.h"
#include "report/export/flamegraph.h"
#include "report/export/heaptrack_export.h"
#include "report/export/replay_export.h"
#include "server/routes/route.h"
#include "server/data/selection.h"

/* What is left of a recording in one of two formats. */
struct exporting {
	struct dataset *dataset;
	struct selection *selection;
	struct heaptrack_export *heaptrack;
	struct replay_export *replay;
};

static void drop_export(void *state)
{
	struct exporting *exporting = state;

	heaptrack_export_destroy(exporting->heaptrack);
	replay_export_destroy(exporting->replay);
	selection_release(exporting->selection);
	dataset_release(exporting->dataset);
	free(exporting);
}

static struct err *make_heaptrack(void *state, struct buf *buf, bool *done)
{
	struct exporting *exporting = state;
	struct err *err;

	dataset_lock(exporting->dataset);
	err = heaptrack_export_more(exporting->heaptrack, buf, done);
	dataset_unlock(exporting->dataset);
	return err;
}

/* Needs no lock: it looks up no names. */
static struct err *make_replay(void *state, struct buf *buf, bool *done)
{
	return replay_export_more(((struct exporting *)state)->replay, buf, done);
}

/* Begins an export. Call it under the lock. */
static struct err *begin_export(struct request *request, struct reply *reply, bool replay,
				struct exporting *exporting)
{
	struct err *err = request_select(request, reply, &exporting->selection);
	const struct filter_match *match;

	if (err || !exporting->selection)
		return err;
	match = exporting->selection->bits ? &exporting->selection->match : NULL;
	if (replay)
		return replay_export_create(exporting->dataset->recording, match,
					    &exporting->replay);
	return heaptrack_export_create(exporting->dataset->symbolized, match,
				       &exporting->heaptrack);
}

static struct err *answer_export(struct request *request, struct reply *reply, bool replay)
{
	struct exporting *exporting = calloc(1, sizeof(*exporting));
	struct err *err;

	if (!exporting)
		return err_no_memory();
	exporting->dataset = dataset_hold(request->dataset);
	dataset_lock(exporting->dataset);
	err = begin_export(request, reply, replay, exporting);
	dataset_unlock(exporting->dataset);
	if (err || !exporting->selection) {
		drop_export(exporting);
		return err;
	}
	return reply_pieces(reply, replay ? make_replay : make_heaptrack, exporting, drop_export);
}

struct err *route_heaptrack(struct request *request, struct reply *reply)
{
	return answer_export(request, reply, false);
}

struct err *route_replay(struct request *request, struct reply *reply)
{
	return answer_export(request, reply, true);
}

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
