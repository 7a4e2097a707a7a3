/*
 * /export/pprof, /export/collapsed, /export/svg and /export/csv: the sums of matching allocations,
 * site by site, as `mallow export --to` and `mallow report --csv` write them.
 */
#include <ctype.h>

#include "analysis/diff/diff_tree.h"
#include "analysis/filter/filtered.h"
#include "analysis/trees/tree.h"
#include "hosted/cleanup.h"
#include "report/csv/csv_report.h"
#include "report/export/collapsed.h"
#include "report/export/flamegraph.h"
#include "report/export/pprof.h"
#include "report/words/format.h"
#include "server/routes/route.h"
#include "server/data/selection.h"

/* Writes a format. recording: what matches; names are those of the data set. */
typedef struct err *site_writer(struct buf *buf, const struct recording *recording,
				struct symbolized *symbolized, enum metric metric);

static struct err *write_pprof(struct buf *buf, const struct recording *recording,
			       struct symbolized *symbolized, enum metric metric)
{
	return pprof_write(buf, recording, symbolized, NULL); // it has all metrics
}

static struct err *write_collapsed(struct buf *buf, const struct recording *recording,
				   struct symbolized *symbolized, enum metric metric)
{
	cleanup(tree_destroy_at) struct tree *tree = NULL;
	struct err *err = tree_create(recording, symbolized, metric, TREE_WHOLE, &tree);

	return err ? err : collapsed_write(buf, tree);
}

static struct err *write_svg(struct buf *buf, const struct recording *recording,
			     struct symbolized *symbolized, enum metric metric)
{
	cleanup(tree_destroy_at) struct tree *tree = NULL;
	struct err *err = tree_create(recording, symbolized, metric, TREE_WHOLE, &tree);

	return err ? err : flamegraph_write(buf, recording, tree, metric, false);
}

static struct err *write_csv(struct buf *buf, const struct recording *recording,
			     struct symbolized *symbolized, enum metric metric)
{
	const struct report_subject subject = {.recording = recording, .symbolized = symbolized};
	struct csv_writer csv = {.buf = buf};

	csv_words(&csv, CSV_REPORT_SITES);
	return csv_report_write(&csv, &subject, NULL, metric, 0);
}

/*
 * *ret: what matches, or NULL if all does. If the request was refused, the reply says so. Call it
 * under the lock.
 */
static struct err *filter_sites(struct request *request, struct reply *reply,
				struct recording **ret)
{
	cleanup(selection_release_at) struct selection *selection = NULL;
	struct err *err = request_select(request, reply, &selection);

	if (err || !selection || !selection->bits)
		return err;
	return filtered_create(request->dataset->recording, &selection->match, ret);
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
	struct recording *filtered[DIFF_SIDES] = {NULL};
	struct diff_side sides[DIFF_SIDES];
	struct err *err = NULL;

	for (int i = 0; !err && !reply->status && i < DIFF_SIDES; i++) {
		const struct dataset *dataset = requests[i]->dataset;

		err = filter_sites(requests[i], reply, &filtered[i]);
		sides[i] = (struct diff_side){filtered[i] ? filtered[i] : dataset->recording,
					      dataset->symbolized, 1};
	}
	if (!err && !reply->status)
		err = write_difference(requests, sides, buf);
	for (int i = 0; i < DIFF_SIDES; i++)
		recording_close(filtered[i]);
	return err;
}

static struct err *answer_sites(struct request *request, struct reply *reply, site_writer *writer)
{
	enum metric metric = (enum metric)request->choices[PARAMETER_SITE_METRIC];
	cleanup(recording_close_at) struct recording *filtered = NULL;
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct dataset *dataset = request->dataset;
	struct err *err;

	dataset_lock(dataset);
	err = filter_sites(request, reply, &filtered);
	if (!err && !reply->status)
		err = writer(&buf, filtered ? filtered : dataset->recording, dataset->symbolized,
			     metric);
	dataset_unlock(dataset);
	return err || reply->status ? err : reply_whole(reply, &buf);
}

struct err *route_site_pprof(struct request *request, struct reply *reply)
{
	struct err *err = answer_sites(request, reply, write_pprof);

	// A profile is a compressed file already.
	reply->packed = reply->status == 200;
	return err;
}

struct err *route_site_collapsed(struct request *request, struct reply *reply)
{
	return answer_sites(request, reply, write_collapsed);
}

struct err *route_site_svg(struct request *request, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct err *err;

	if (!request->before)
		return answer_sites(request, reply, write_svg);
	dataset_lock_both(request->dataset, request->before->dataset);
	err = write_both(request, reply, &buf);
	dataset_unlock_both(request->dataset, request->before->dataset);
	return err || reply->status ? err : reply_whole(reply, &buf);
}

struct err *route_site_csv(struct request *request, struct reply *reply)
{
	return answer_sites(request, reply, write_csv);
}
