/*
 * /export/svg, and /export/FORMAT for the formats of exporters.def that have no route of their own:
 * matching allocations as `mallow export --to` writes them.
 */
#include <ctype.h>

#include "analysis/diff/diff_tree.h"
#include "analysis/filter/filtered.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "report/export/export_format.h"
#include "report/export/flamegraph.h"
#include "report/export/pprof.h"
#include "report/words/format.h"
#include "server/page/html_file.h"
#include "server/routes/route.h"
#include "server/data/selection.h"

/* What matches a request. Zeroed: empty. */
struct matching {
	struct selection *selection;
	struct recording *filtered; /* NULL: all matches */
};

static void matching_deinit(struct matching *matching)
{
	recording_close(matching->filtered);
	selection_release(matching->selection);
}

/* If the request was refused, the reply says so. Call it under the lock. */
static struct err *find_matching(struct request *request, struct reply *reply, struct matching *ret)
{
	struct err *err = request_select(request, reply, &ret->selection);

	if (err || !ret->selection || !ret->selection->bits)
		return err;
	return filtered_create(request->dataset->recording, &ret->selection->match, &ret->filtered);
}

/* The moment of a side, for people: the page sends nanoseconds. NULL: the whole run. */
static const char *moment_words(const struct request *request, struct formatted *words)
{
	const char *typed = filter_alive_at(request->filter);
	char *end;
	uint64_t ns;

	if (!typed || !isdigit((unsigned char)*typed))
		return typed;
	ns = strtoull(typed, &end, 10);
	if (strcmp(end, "ns") != 0)
		return typed;
	*words = format_time(ns);
	return words->text;
}

static struct err *write_difference(struct request *const requests[DIFF_SIDES],
				    const struct diff_side sides[DIFF_SIDES], struct buf *buf)
{
	const struct request *after = requests[DIFF_AFTER];
	enum metric metric = (enum metric)after->choices[PARAMETER_SITE_METRIC];
	enum diff_show show = (enum diff_show)after->choices[PARAMETER_SHOW];
	cleanup(diff_destroy_at) struct diff *diff = NULL;
	cleanup(diff_tree_deinit) struct diff_tree tree = {0};
	const char *moments[DIFF_SIDES];
	struct formatted words[DIFF_SIDES];
	struct err *err = diff_create(sides, &diff);

	if (!err)
		err = diff_tree_create(diff, metric, TREE_WHOLE, show, &tree);
	if (err)
		return err;
	for (int i = 0; i < DIFF_SIDES; i++)
		moments[i] = moment_words(requests[i], &words[i]);
	return flamegraph_write_diff(buf, diff, &tree, show, metric, false, moments);
}

/* Writes how what matches on both sides differs. Call it under the locks. */
static struct err *write_both(struct request *request, struct reply *reply, struct buf *buf)
{
	struct request *const requests[DIFF_SIDES] = {request->before, request};
	struct matching matching[DIFF_SIDES] = {0};
	struct diff_side sides[DIFF_SIDES];
	struct err *err = NULL;

	for (int i = 0; !err && !reply->status && i < DIFF_SIDES; i++) {
		const struct dataset *dataset = requests[i]->dataset;

		err = find_matching(requests[i], reply, &matching[i]);
		sides[i] = (struct diff_side){matching[i].filtered ? matching[i].filtered
								   : dataset->recording,
					      dataset->symbolized, 1};
	}
	if (!err && !reply->status)
		err = write_difference(requests, sides, buf);
	for (int i = 0; i < DIFF_SIDES; i++)
		matching_deinit(&matching[i]);
	return err;
}

/* Writes what matches in a format. Call it under the lock. */
static struct err *write_matching(struct request *request, struct reply *reply,
				  const struct export_format *format, struct buf *buf)
{
	const struct dataset *dataset = request->dataset;
	cleanup(matching_deinit) struct matching matching = {0};
	struct err *err = find_matching(request, reply, &matching);
	const struct export_subject subject = {
		.recording = matching.filtered ? matching.filtered : dataset->recording,
		.blocks = dataset->recording,
		.match = matching.filtered ? &matching.selection->match : NULL,
		.symbolized = dataset->symbolized,
		.metric = (enum metric)request->choices[PARAMETER_SITE_METRIC],
		.nodes = HTML_FILE_NODES,
		.samples = PPROF_SAMPLES,
	};

	if (err || reply->status)
		return err;
	return reply_refuse_err(reply, format->write(buf, &subject));
}

static struct err *answer_export(struct request *request, struct reply *reply, const char *name)
{
	const struct export_format *format = export_format_find(name);
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct err *err;

	dataset_lock(request->dataset);
	err = write_matching(request, reply, format, &buf);
	dataset_unlock(request->dataset);
	if (!err && !reply->status)
		err = reply_whole(reply, &buf);
	// Such a file is compressed already.
	reply->packed = format->compressed && reply->status == 200;
	return err;
}

/* The last part of the route's path is what exporters.def calls the format. */
struct err *route_export(struct request *request, struct reply *reply)
{
	return answer_export(request, reply, file_name(request->route->path));
}

struct err *route_site_svg(struct request *request, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct err *err;

	if (!request->before)
		return answer_export(request, reply, "flamegraph");
	dataset_lock_both(request->dataset, request->before->dataset);
	err = write_both(request, reply, &buf);
	dataset_unlock_both(request->dataset, request->before->dataset);
	return err || reply->status ? err : reply_whole(reply, &buf);
}
