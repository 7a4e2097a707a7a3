/* mallow export: a recording in another program's format. */
#include <string.h>
#include <unistd.h>

#include "analysis/diff/diff_tree.h"
#include "analysis/trees/tree.h"
#include "base/compiler.h"
#include "cli/choice_option.h"
#include "cli/cli.h"
#include "cli/debug_symbols_option.h"
#include "cli/diff_source.h"
#include "cli/filter_options.h"
#include "cli/loaded.h"
#include "cli/merged.h"
#include "cli/metric_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plumbing_option.h"
#include "hosted/cleanup.h"
#include "hosted/compressor.h"
#include "hosted/nearest.h"
#include "report/export/collapsed.h"
#include "report/export/flamegraph.h"
#include "report/export/heaptrack_export.h"
#include "report/export/pprof.h"
#include "report/export/replay_export.h"

enum { TO, METRIC, OUTPUT, MERGE, FOLD, BASELINE, SHOW, PLUMBING, BYTES, DEBUG_SYMBOLS };

static const struct option_spec options_of_export[] = {
	[TO] = {.name = "to",
		.value = "FORMAT",
		.text = "what to write",
		.choices = "flamegraph collapsed heaptrack pprof replay"},
	[METRIC] = {.name = "metric",
		    .value = "METRIC",
		    .text = "what is counted, peak if not given",
		    .choices = metric_names + 1},
	[OUTPUT] = {.name = "output",
		    .letter = 'o',
		    .value = "FILE",
		    .text = "file to write instead of standard output; compressed if its name "
			    "ends in .gz or .zst"},
	[MERGE] = {.name = "merge",
		   .text = "all recordings, or those of a directory, as one: see report"},
	[FOLD] = {.name = "fold",
		  .text = "in a flame graph and collapsed stacks: frames that are not your own "
			  "code are one, the call that your code made"},
	[BASELINE] = {.name = "baseline",
		      .value = "BEFORE",
		      .text = "what changed since that recording, or that moment, "
			      "BEFORE@MOMENT, as a flame graph or a profile for pprof: see diff"},
	[SHOW] = {.name = "show",
		  .value = "WHAT",
		  .text = "with --baseline: widths are the larger of both, or the change of the "
			  "sites that grew, or that fell",
		  .choices = "larger grew fell"},
	[PLUMBING] = PLUMBING_OPTION,
	[BYTES] = {.name = "bytes", .text = "sizes in texts to the last digit"},
	[DEBUG_SYMBOLS] = DEBUG_SYMBOLS_OPTION,
};

static const int exclusive[][2] = {{MERGE, BASELINE}};

/* What is to be written. */
struct wanted {
	const struct recording *recording;
	struct naming naming; /* for the names of all recordings */
	struct symbolized *symbolized;
	const struct filter_match *match; /* for formats that show blocks; NULL: all blocks */
	enum metric metric;
	enum tree_fold fold;
	const struct diff *diff; /* from the baseline; NULL: there is none */
	enum diff_show show;
	bool exact;
};

/* One format: its name, what it shows, and who writes it. */
struct exporter {
	const char *name;
	bool of_metric;  /* it shows one metric */
	bool compressed; /* the format is compressed already */
	bool binary;     /* it is not text for a terminal */
	bool of_blocks;  /* it shows blocks, which merged recordings do not have; false: sums */
	bool of_diffs;   /* it can show what changed */
	struct err *(*write)(struct buf *buf, const struct wanted *wanted);
};

CLEANUP_DEFINE(struct tree *, tree_destroy);

static struct err *write_flamegraph_diff(struct buf *buf, const struct wanted *wanted)
{
	cleanup(diff_tree_deinit) struct diff_tree tree = {0};
	struct err *err =
		diff_tree_create(wanted->diff, wanted->metric, wanted->fold, wanted->show, &tree);

	return err ? err
		   : flamegraph_write_diff(buf, wanted->diff, &tree, wanted->show, wanted->metric,
					   wanted->exact);
}

static struct err *write_flamegraph(struct buf *buf, const struct wanted *wanted)
{
	cleanup(tree_destroy_at) struct tree *tree = NULL;
	struct err *err;

	if (wanted->diff)
		return write_flamegraph_diff(buf, wanted);
	err = tree_create(wanted->recording, wanted->symbolized, wanted->metric, wanted->fold,
			  &tree);
	return err ? err
		   : flamegraph_write(buf, wanted->recording, tree, wanted->metric, wanted->exact);
}

static struct err *write_collapsed(struct buf *buf, const struct wanted *wanted)
{
	cleanup(tree_destroy_at) struct tree *tree = NULL;
	struct err *err = tree_create(wanted->recording, wanted->symbolized, wanted->metric,
				      wanted->fold, &tree);

	return err ? err : collapsed_write(buf, tree);
}

static struct err *write_heaptrack(struct buf *buf, const struct wanted *wanted)
{
	return heaptrack_export_write(buf, wanted->symbolized, wanted->match);
}

static struct err *write_pprof(struct buf *buf, const struct wanted *wanted)
{
	const struct diff *diff = wanted->diff;

	if (diff)
		return pprof_write(buf, diff->sides[DIFF_AFTER], diff->symbolized,
				   diff->sides[DIFF_BEFORE]);
	return pprof_write(buf, wanted->recording, wanted->symbolized, NULL);
}

static struct err *write_replay(struct buf *buf, const struct wanted *wanted)
{
	return replay_export_write(buf, wanted->recording, wanted->match);
}

static const struct exporter exporters[] = {
	{"flamegraph", .of_metric = true, .of_diffs = true, .write = write_flamegraph},
	{"collapsed", .of_metric = true, .write = write_collapsed},
	{"heaptrack", .of_blocks = true, .write = write_heaptrack},
	{"pprof", .compressed = true, .binary = true, .of_diffs = true, .write = write_pprof},
	{"replay", .binary = true, .of_blocks = true, .write = write_replay},
};

#define EXPORTER_COUNT (sizeof(exporters) / sizeof(exporters[0]))

/* The exporter with that name. NULL: there is none, and an error was printed. */
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

CLEANUP_DEFINE(struct compressor *, compressor_destroy);

static struct err *write_through(const struct exporter *exporter, const char *path,
				 const struct wanted *wanted, struct buf *buf)
{
	cleanup(compressor_destroy_at) struct compressor *compressor = NULL;
	enum compression compression =
		path && !exporter->compressed ? compression_of_name(path) : COMPRESSION_NONE;
	struct err *err = compressor_create(compression, buf, &compressor);

	if (!err)
		err = exporter->write(compressor_input(compressor), wanted);
	return err ? err : compressor_finish(compressor);
}

static struct err *write_out(const struct exporter *exporter, const struct options *options,
			     const struct wanted *wanted)
{
	const char *path = options->values[OUTPUT];
	struct output output;
	struct err *err = output_open(path, &output);

	if (err)
		return err;
	return output_close(&output, write_through(exporter, path, wanted, &output.buf));
}

/* The part of a recording that is written: matching blocks, or their sums. filter NULL: all. */
struct selection {
	struct filter_match match;
	struct filter_view view;
};

static void selection_deinit(struct selection *selection)
{
	filter_match_deinit(&selection->match);
	filter_view_deinit(&selection->view);
}

static struct err *select_matching(const struct exporter *exporter, const struct filter *filter,
				   struct wanted *wanted, struct selection *selection)
{
	struct err *err;

	if (!filter)
		return NULL;
	if (exporter->of_blocks) {
		wanted->match = &selection->match;
		return filter_match(filter, wanted->recording, wanted->symbolized,
				    &selection->match);
	}
	err = filter_view_create(filter, wanted->recording, wanted->symbolized, &selection->view);
	wanted->recording = selection->view.recording;
	return err;
}

static int export_one(const struct exporter *exporter, const struct options *options,
		      const struct filter *filter, const struct wanted *asked)
{
	struct wanted wanted = *asked;
	cleanup(loaded_close) struct loaded loaded = {0};
	cleanup(selection_deinit) struct selection selection = {0};
	const char *path = options->operands[0];
	bool blocks = filter || exporter->of_blocks;
	struct err *err;

	if (!(blocks ? loaded_open_filterable(path, &wanted.naming, &loaded)
		     : loaded_open(path, &wanted.naming, &loaded)))
		return CLI_FAILED;
	wanted.recording = loaded.recording;
	wanted.symbolized = loaded.symbolized;
	err = err_prefix(select_matching(exporter, filter, &wanted, &selection), "%s", path);
	if (!err)
		err = write_out(exporter, options, &wanted);
	return cli_report_err(err);
}

static int export_merged(const struct exporter *exporter, const struct options *options,
			 const struct wanted *asked)
{
	struct wanted wanted = *asked;
	cleanup(recording_paths_deinit) struct recording_paths paths = {0};
	cleanup(merged_close) struct merged merged = {0};
	struct err *err = recording_paths_find(options, &paths);

	if (err)
		return cli_report_err(err);
	merged_open(&paths, &wanted.naming, &merged);
	if (merged.merge) {
		wanted.recording = merge_recording(merged.merge);
		wanted.symbolized = merge_symbolized(merged.merge);
		err = write_out(exporter, options, &wanted);
	}
	if (err)
		return cli_report_err(err);
	return merged.failed ? CLI_FAILED : CLI_OK;
}

static struct err *export_diff(const struct exporter *exporter, const struct options *options,
			       struct wanted *wanted, const struct diff_source sources[DIFF_SIDES])
{
	struct diff_side sides[DIFF_SIDES];
	struct diff *diff;
	struct err *err;

	for (int i = 0; i < DIFF_SIDES; i++)
		sides[i] = (struct diff_side){diff_source_recording(&sources[i]),
					      sources[i].loaded.symbolized, 1};
	err = diff_create(sides, &diff);
	if (err)
		return err;
	wanted->diff = diff;
	err = write_out(exporter, options, wanted);
	diff_destroy(diff);
	return err;
}

static int export_change(const struct command *command, const struct exporter *exporter,
			 const struct options *options, const struct wanted *asked)
{
	const char *const typed[DIFF_SIDES] = {options->values[BASELINE], options->operands[0]};
	struct diff_source sources[DIFF_SIDES] = {0};
	struct wanted wanted = *asked;
	int status = CLI_OK;

	for (int i = 0; status == CLI_OK && i < DIFF_SIDES; i++)
		status = diff_source_read(command, options, typed[i], &sources[i]);
	for (int i = 0; status == CLI_OK && i < DIFF_SIDES; i++)
		if (!diff_source_open(&sources[i], &wanted.naming))
			status = CLI_FAILED;
	if (status == CLI_OK)
		status = cli_report_err(export_diff(exporter, options, &wanted, sources));
	for (int i = 0; i < DIFF_SIDES; i++)
		diff_source_deinit(&sources[i]);
	return status;
}

/* false: the format has no use for an option that was given; an error was printed. */
static bool check_options(const struct exporter *exporter, const struct options *options)
{
	const char *useless = NULL;

	if (options->values[METRIC] && !exporter->of_metric)
		useless = options_of_export[METRIC].name;
	else if (options->values[FOLD] && !exporter->of_metric)
		useless = options_of_export[FOLD].name;
	else if (options->values[MERGE] && exporter->of_blocks)
		useless = options_of_export[MERGE].name;
	else if (options->values[BASELINE] && !exporter->of_diffs)
		useless = options_of_export[BASELINE].name;
	else if (options->values[SHOW] && !exporter->of_metric)
		useless = options_of_export[SHOW].name;
	if (useless)
		cli_error(CLI_USAGE, "--%s is not for --to %s", useless, exporter->name);
	else if (options->values[PLUMBING] && !options->values[FOLD])
		cli_error(CLI_USAGE, "--plumbing needs --fold");
	else if (options->values[SHOW] && !options->values[BASELINE])
		cli_error(CLI_USAGE, "--show needs --baseline");
	else
		return true;
	return false;
}

/* false: bytes that are no text would go to a terminal; an error was printed. */
static bool check_output(const struct exporter *exporter, const struct options *options)
{
	const char *path = options->values[OUTPUT];
	bool text = !exporter->binary || (path && strcmp(path, "-") != 0) || !isatty(STDOUT_FILENO);

	if (!text)
		cli_error(CLI_USAGE, "--to %s is no text for a terminal: -o FILE", exporter->name);
	return text;
}

CLEANUP_DEFINE(struct filter *, filter_destroy);
CLEANUP_DEFINE(struct symbolizer *, symbolizer_destroy);
CLEANUP_DEFINE(struct plumbing *, plumbing_destroy);

static int run(const struct command *command, const struct options *options)
{
	const struct exporter *exporter = find_exporter(options->values[TO]);
	cleanup(filter_destroy_at) struct filter *filter = NULL;
	cleanup(symbolizer_destroy_at) struct symbolizer *symbolizer = NULL;
	cleanup(plumbing_destroy_at) struct plumbing *plumbing = NULL;
	bool merge = options->values[MERGE] != NULL;
	int show = DIFF_SHOW_LARGER;
	struct wanted wanted = {
		.exact = options->values[BYTES] != NULL,
		.fold = options->values[FOLD] ? TREE_FOLDED : TREE_WHOLE,
	};
	struct err *err;

	if (!exporter || !metric_option(command, options, METRIC, &wanted.metric) ||
	    !options_operands(command, options, 1, merge ? INT32_MAX : 1,
			      merge ? "a recording" : "one recording") ||
	    !choice_option(command, options, SHOW, &show) ||
	    !options_exclusive(command, options, exclusive, ARRAY_COUNT(exclusive)) ||
	    !check_options(exporter, options) || !check_output(exporter, options) ||
	    !filter_options_read(command, options, &filter) ||
	    !filter_options_exclude(command, options, MERGE))
		return CLI_USAGE;
	wanted.show = (enum diff_show)show;
	if (!debug_symbols_open(options, &symbolizer))
		return CLI_FAILED;
	err = plumbing_option_read(options->values[PLUMBING], &plumbing);
	if (err)
		return cli_report_err(err);
	wanted.naming = (struct naming){symbolizer, plumbing};
	if (options->values[BASELINE])
		return export_change(command, exporter, options, &wanted);
	return merge ? export_merged(exporter, options, &wanted)
		     : export_one(exporter, options, filter, &wanted);
}

const struct command_body command_export = {
	.options = options_of_export,
	.option_count = sizeof(options_of_export) / sizeof(options_of_export[0]),
	.filters = true,
	.run = run,
	.details =
		"flamegraph: one SVG file for any browser, with zoom and search. collapsed: a line "
		"for each stack, outermost function first, as flamegraph.pl and speedscope read "
		"it. heaptrack: every allocation and free, for heaptrack_gui and heaptrack_print, "
		"which want a file whose name ends in .gz or .zst, or plain text. pprof: a profile "
		"for `go tool pprof`, speedscope and others, in seven ways of counting. "
		"replay: what bytehound's replayer does again, as allocations and frees.",
};
