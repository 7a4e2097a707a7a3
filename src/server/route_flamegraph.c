/* /export/flamegraph and /export/flamegraph.pl: bytes by stacks of functions. */
#include "analysis/trees/tree.h"
#include "hosted/cleanup.h"
#include "report/export/collapsed.h"
#include "report/export/flamegraph.h"
#include "server/route.h"
#include "server/selection.h"

CLEANUP_DEFINE(struct tree *, tree_destroy);
CLEANUP_DEFINE(struct selection *, selection_release);

typedef struct err *put_stacks(struct buf *buf, const struct recording *recording,
			       const struct tree *tree);

static struct err *put_svg(struct buf *buf, const struct recording *recording,
			   const struct tree *tree)
{
	// Nothing matched: clients expect an empty body.
	return tree->nodes[0].value ? flamegraph_write(buf, recording, tree, METRIC_TOTAL, false)
				    : NULL;
}

static struct err *put_lines(struct buf *buf, const struct recording *recording,
			     const struct tree *tree)
{
	return collapsed_write_libraries(buf, tree);
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

/* Writes the stacks of the matching blocks. Call it under the lock. */
static struct err *write_stacks(struct request *request, struct reply *reply, put_stacks *put,
				struct buf *buf)
{
	cleanup(selection_release_at) struct selection *selection = NULL;
	cleanup(tree_destroy_at) struct tree *tree = NULL;
	struct dataset *dataset = request->dataset;
	struct err *err;

	err = request_select(request, reply, &selection);
	if (err || !selection)
		return err;
	err = create_tree(dataset, selection, &tree);
	return err ? err : put(buf, dataset->recording, tree);
}

static struct err *answer(struct request *request, struct reply *reply, put_stacks *put)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct err *err;

	dataset_lock(request->dataset);
	err = write_stacks(request, reply, put, &buf);
	dataset_unlock(request->dataset);
	return err || reply->status ? err : reply_whole(reply, &buf);
}

struct err *route_flamegraph(struct request *request, struct reply *reply)
{
	return answer(request, reply, put_svg);
}

struct err *route_flamegraph_pl(struct request *request, struct reply *reply)
{
	return answer(request, reply, put_lines);
}
