#include "cli/report/exporter.h"

#include <string.h>

#include "analysis/trees/tree.h"
#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"
#include "cli/recordings/file_kind.h"
#include "cli/serve/serving.h"
#include "hosted/cleanup.h"
#include "hosted/compressor.h"
#include "hosted/file_name.h"
#include "hosted/nearest.h"
#include "report/export/collapsed.h"
#include "report/export/flamegraph.h"
#include "report/export/frames.h"
#include "report/export/heaptrack_export.h"
#include "report/export/pprof.h"
#include "report/export/replay_export.h"

/* What the page calls the recording: /proc/PID/fd/N is nothing without its folders. */
static const char *page_name(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 ? path : file_name(path);
}

/* Writes the page. A progress bar is drawn on a terminal meanwhile. */
static struct err *write_html(struct buf *buf, const struct export_subject *subject)
{
	const struct html_export *wanted = subject->html;
	cleanup(catalog_destroy_at) struct catalog *catalog = NULL;
	cleanup(progress_deinit) struct progress progress = {0};
	const struct catalog_options kept = {
		.debug_paths = wanted->debug_paths,
		.max_open = 1,
		.max_memory = serving_memory(),
		.sources = wanted->sources,
		.still = true, // all answers are of one moment
		.anonymous = wanted->anonymous,
	};
	const struct html_file_options options = {
		.id = "last",
		.sources = wanted->sources.served,
		.nodes = wanted->nodes,
		.anonymous = wanted->anonymous,
		.name = page_name(wanted->path),
		.conditions = wanted->conditions ? wanted->conditions : "",
		.check = wanted->check,
		.progress = progress_update,
		.argument = &progress,
	};
	struct err *err = file_kind_check(wanted->path);

	progress_init(&progress, "exporting");
	if (!err)
		err = catalog_create(&kept, &catalog);
	if (!err)
		err = catalog_add(catalog, wanted->path);
	return err ? err : html_file_write(catalog, &options, buf);
}

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

static struct err *write_frames(struct buf *buf, const struct export_subject *subject)
{
	return frames_write(buf, subject->symbolized);
}

static const struct exporter exporters[] = {
#define EXPORTER(name_, text, ...) {#name_, .write = write_##name_, __VA_ARGS__},
#include "cli/report/exporters.def"
#undef EXPORTER
};

const struct exporter *exporter_find(const char *typed)
{
	const char *names[ARRAY_COUNT(exporters)];
	const char *near;

	for (size_t i = 0; i < ARRAY_COUNT(exporters); i++) {
		names[i] = exporters[i].name;
		if (typed && strcmp(typed, names[i]) == 0)
			return &exporters[i];
	}
	near = typed ? nearest_word(typed, names, ARRAY_COUNT(exporters)) : NULL;
	if (!typed)
		cli_error(CLI_USAGE, "'export' needs --to FORMAT: one of %s", exporter_names + 1);
	else if (near)
		cli_error(CLI_USAGE, "unknown format '%s': did you mean '%s'?", typed, near);
	else
		cli_error(CLI_USAGE, "unknown format '%s': one of %s is wanted", typed,
			  exporter_names + 1);
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
