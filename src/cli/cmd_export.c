/* mallow export: a recording in another program's format. */
#include <string.h>

#include "analysis/tree.h"
#include "cli/cli.h"
#include "cli/filter_options.h"
#include "cli/loaded.h"
#include "cli/merged.h"
#include "cli/metric_option.h"
#include "hosted/nearest.h"
#include "cli/options.h"
#include "cli/output.h"
#include "hosted/cleanup.h"
#include "report/collapsed.h"
#include "report/flamegraph.h"

enum { TO, METRIC, OUTPUT, MERGE, BYTES };

static const struct option_spec options_of_export[] = {
	[TO] = {.name = "to",
		.value = "FORMAT",
		.text = "what to write",
		.choices = "flamegraph collapsed"},
	[METRIC] = {.name = "metric",
		    .value = "METRIC",
		    .text = "what is counted, peak if not given",
		    .choices = metric_names + 1},
	[OUTPUT] = {.name = "output",
		    .letter = 'o',
		    .value = "FILE",
		    .text = "file to write instead of standard output"},
	[MERGE] = {.name = "merge",
		   .text = "all recordings, or those of a directory, as one: see report"},
	[BYTES] = {.name = "bytes", .text = "sizes in texts to the last digit"},
};

/* One format: how it is called and who writes it. */
struct exporter {
	const char *name;
	struct err *(*write)(struct buf *buf, const struct recording *recording,
			     const struct tree *tree, enum metric metric, bool exact);
};

static struct err *write_collapsed(struct buf *buf, const struct recording *recording,
				   const struct tree *tree, enum metric metric, bool exact)
{
	return collapsed_write(buf, tree);
}

static const struct exporter exporters[] = {
	{"flamegraph", flamegraph_write},
	{"collapsed", write_collapsed},
};

#define EXPORTER_COUNT (sizeof(exporters) / sizeof(exporters[0]))

CLEANUP_DEFINE(struct tree *, tree_destroy);

/* NULL: an error was printed. */
static const struct exporter *find_exporter(const char *typed)
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
		cli_error(CLI_USAGE, "'export' needs --to FORMAT: one of %s",
			  options_of_export[TO].choices);
	else if (near)
		cli_error(CLI_USAGE, "unknown format '%s': did you mean '%s'?", typed, near);
	else
		cli_error(CLI_USAGE, "unknown format '%s': one of %s is wanted", typed,
			  options_of_export[TO].choices);
	return NULL;
}

static struct err *write_out(const struct exporter *exporter, const struct options *options,
			     const struct recording *recording, struct symbolized *symbolized,
			     enum metric metric)
{
	cleanup(tree_destroy_at) struct tree *tree = NULL;
	struct output output;
	struct err *err;

	err = tree_create(recording, symbolized, metric, &tree);
	if (!err)
		err = output_open(options->values[OUTPUT], &output);
	if (err)
		return err;
	return output_close(&output, exporter->write(&output.buf, recording, tree, metric,
						     options->values[BYTES] != NULL));
}

/* filter: NULL: none. */
static int export_one(const struct exporter *exporter, const struct options *options,
		      const struct filter *filter, enum metric metric)
{
	cleanup(loaded_close) struct loaded loaded = {0};
	cleanup(filter_view_deinit) struct filter_view view = {0};
	const char *path = options->operands[0];
	struct err *err = NULL;

	if (!(filter ? loaded_open_filterable(path, &loaded) : loaded_open(path, true, &loaded)))
		return CLI_FAILED;
	if (filter)
		err = err_prefix(
			filter_view_create(filter, loaded.recording, loaded.symbolized, &view),
			"%s", path);
	if (!err)
		err = write_out(exporter, options, filter ? view.recording : loaded.recording,
				loaded.symbolized, metric);
	return cli_report_err(err);
}

static int export_merged(const struct exporter *exporter, const struct options *options,
			 enum metric metric)
{
	cleanup(recording_paths_deinit) struct recording_paths paths = {0};
	cleanup(merged_close) struct merged merged = {0};
	struct err *err = recording_paths_find(options, &paths);

	if (err)
		return cli_report_err(err);
	merged_open(&paths, &merged);
	if (merged.merge)
		err = write_out(exporter, options, merge_recording(merged.merge),
				merge_symbolized(merged.merge), metric);
	if (err)
		return cli_report_err(err);
	return merged.failed ? CLI_FAILED : CLI_OK;
}

CLEANUP_DEFINE(struct filter *, filter_destroy);

static int run(const struct command *command, const struct options *options)
{
	const struct exporter *exporter = find_exporter(options->values[TO]);
	cleanup(filter_destroy_at) struct filter *filter = NULL;
	bool merge = options->values[MERGE] != NULL;
	enum metric metric;

	if (!exporter || !metric_option(command, options, METRIC, &metric) ||
	    !options_operands(command, options, 1, merge ? INT32_MAX : 1,
			      merge ? "a recording" : "one recording") ||
	    !filter_options_read(command, options, &filter) ||
	    !filter_options_exclude(command, options, MERGE))
		return CLI_USAGE;
	return merge ? export_merged(exporter, options, metric)
		     : export_one(exporter, options, filter, metric);
}

const struct command_body command_export = {
	.options = options_of_export,
	.option_count = sizeof(options_of_export) / sizeof(options_of_export[0]),
	.filters = true,
	.run = run,
	.details =
		"flamegraph: one SVG file for any browser, with zoom and search. collapsed: a line "
		"for each stack, outermost function first, as flamegraph.pl and speedscope read "
		"it.",
};
