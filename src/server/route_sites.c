/*
 * /export/pprof, /export/collapsed, /export/svg and /export/csv: the sums of matching allocations,
 * site by site, as `mallow export --to` and `mallow report --csv` write them.
 */
#include "analysis/filter/filtered.h"
#include "analysis/trees/tree.h"
#include "hosted/cleanup.h"
#include "report/csv/csv_report.h"
#include "report/export/collapsed.h"
#include "report/export/flamegraph.h"
#include "report/export/pprof.h"
#include "server/route.h"
#include "server/selection.h"

CLEANUP_DEFINE(struct tree *, tree_destroy);
CLEANUP_DEFINE(struct selection *, selection_release);
CLEANUP_DEFINE(struct recording *, recording_close);

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

/* Writes what matches. Call it under the lock. */
static struct err *write_matching(struct request *request, struct reply *reply, site_writer *writer,
				  struct buf *buf)
{
	enum metric metric = (enum metric)request->choices[PARAMETER_SITE_METRIC];
	cleanup(recording_close_at) struct recording *filtered = NULL;
	cleanup(selection_release_at) struct selection *selection = NULL;
	const struct dataset *dataset = request->dataset;
	struct err *err = request_select(request, reply, &selection);

	if (!err && selection && selection->bits)
		err = filtered_create(dataset->recording, &selection->match, &filtered);
	if (err || !selection)
		return err;
	return writer(buf, filtered ? filtered : dataset->recording, dataset->symbolized, metric);
}

static struct err *answer(struct request *request, struct reply *reply, site_writer *writer)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct err *err;

	dataset_lock(request->dataset);
	err = write_matching(request, reply, writer, &buf);
	dataset_unlock(request->dataset);
	return err || reply->status ? err : reply_whole(reply, &buf);
}

struct err *route_site_pprof(struct request *request, struct reply *reply)
{
	struct err *err = answer(request, reply, write_pprof);

	// A profile is a compressed file already.
	reply->packed = reply->status == 200;
	return err;
}

struct err *route_site_collapsed(struct request *request, struct reply *reply)
{
	return answer(request, reply, write_collapsed);
}

struct err *route_site_svg(struct request *request, struct reply *reply)
{
	return answer(request, reply, write_svg);
}

struct err *route_site_csv(struct request *request, struct reply *reply)
{
	return answer(request, reply, write_csv);
}
