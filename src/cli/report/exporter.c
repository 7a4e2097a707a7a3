#include "cli/report/exporter.h"

#include <string.h>

#include "analysis/trees/tree.h"
#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/report/html_export.h"
#include "cli/output/output.h"
#include "hosted/cleanup.h"
#include "hosted/compressor.h"
#include "hosted/nearest.h"
#include "report/export/collapsed.h"
#include "report/export/flamegraph.h"
#include "report/export/heaptrack_export.h"
#include "report/export/pprof.h"
#include "report/export/replay_export.h"

CLEANUP_DEFINE(struct tree *, tree_destroy);

static struct err *write_flamegraph_diff(struct buf *buf, const struct export_subject *subject)
{
	cleanup(diff_tree_deinit) struct diff_tree tree = {0};
	struct err *err = diff_tree_create(subject->diff, subject->metric, subject->fold,
					   subject->show, &tree);

	return err ? err
		   : flamegraph_write_diff(buf, subject->diff, &tree, subject->show,
					   subject->metric, subject->exact, subject->moments);
}

static struct err *write_flamegraph(struct buf *buf, const struct export_subject *subject)
{
	cleanup(tree_destroy_at) struct tree *tree = NULL;
	struct err *err;

	if (subject->diff)
		return write_flamegraph_diff(buf, subject);
	err = tree_create(subject->recording, subject->symbolized, subject->metric, subject->fold,
			  &tree);
	return err ? err
		   : flamegraph_write(buf, subject->recording, tree, subject->metric,
				      subject->exact);
}

static struct err *write_collapsed(struct buf *buf, const struct export_subject *subject)
{
	cleanup(tree_destroy_at) struct tree *tree = NULL;
	struct err *err = tree_create(subject->recording, subject->symbolized, subject->metric,
				      subject->fold, &tree);

	return err ? err : collapsed_write(buf, tree);
}

static struct err *write_heaptrack(struct buf *buf, const struct export_subject *subject)
{
	return heaptrack_export_write(buf, subject->symbolized, subject->match);
}

static struct err *write_pprof(struct buf *buf, const struct export_subject *subject)
{
	const struct diff *diff = subject->diff;

	if (diff)
		return pprof_write(buf, diff->sides[DIFF_AFTER], diff->symbolized,
				   diff->sides[DIFF_BEFORE]);
	return pprof_write(buf, subject->recording, subject->symbolized, NULL);
}

static struct err *write_replay(struct buf *buf, const struct export_subject *subject)
{
	return replay_export_write(buf, subject->recording, subject->match);
}

static struct err *write_html(struct buf *buf, const struct export_subject *subject)
{
	return html_export_write(buf, subject->html);
}

static const struct exporter exporters[] = {
	{"html", .of_page = true, .write = write_html},
	{"flamegraph", .of_metric = true, .of_diffs = true, .write = write_flamegraph},
	{"collapsed", .of_metric = true, .write = write_collapsed},
	{"heaptrack", .of_blocks = true, .write = write_heaptrack},
	{"pprof", .compressed = true, .binary = true, .of_diffs = true, .write = write_pprof},
	{"replay", .binary = true, .of_blocks = true, .write = write_replay},
};

#define EXPORTER_COUNT (ARRAY_COUNT(exporters))

const struct exporter *exporter_find(const char *typed)
{
	const char *names[EXPORTER_COUNT];
	const char *near;

	for (size_t i = 0; i < EXPORTER_COUNT; i++) {
		names[i] = exporters[i].name;
		if (typed && strcmp(typed, names[i]) == 0)
			return &exporters[i];
	}
	near = typed ? nearest_word(typed, names, EXPORTER_COUNT) : NULL;
	if (!typed)
		cli_error(CLI_USAGE, "'export' needs --to FORMAT: one of %s", EXPORTER_NAMES);
	else if (near)
		cli_error(CLI_USAGE, "unknown format '%s': did you mean '%s'?", typed, near);
	else
		cli_error(CLI_USAGE, "unknown format '%s': one of %s is wanted", typed,
			  EXPORTER_NAMES);
	return NULL;
}

static struct err *write_through(const struct exporter *exporter, const char *path,
				 const struct export_subject *subject, struct buf *buf)
{
	cleanup(compressor_destroy_at) struct compressor *compressor = NULL;
	enum compression compression =
		path && !exporter->compressed ? compression_of_name(path) : COMPRESSION_NONE;
	struct err *err = compressor_create(compression, buf, &compressor);

	if (!err)
		err = exporter->write(compressor_input(compressor), subject);
	return err ? err : compressor_finish(compressor);
}

struct err *exporter_write(const struct exporter *exporter, const char *path,
			   const struct export_subject *subject)
{
	struct output output;
	struct err *err = output_open(path, &output);

	if (err)
		return err;
	output.buf.shown = false;
	return output_close(&output, write_through(exporter, path, subject, &output.buf));
}
