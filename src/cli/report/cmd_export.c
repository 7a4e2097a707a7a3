/* mallow export: a recording in another program's format. */
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/options/filter_options.h"
#include "cli/options/moment_operand.h"
#include "cli/options/options.h"
#include "cli/options/shared_options.h"
#include "cli/output/output.h"
#include "cli/recordings/loaded.h"
#include "cli/recordings/merged.h"
#include "cli/recordings/narrowed.h"
#include "cli/recordings/newest.h"
#include "cli/report/exporter.h"
#include "hosted/cleanup.h"
#include "report/export/pprof.h"

enum {
	TO,
	METRIC,
	OUTPUT,
	MERGE,
	FOLD,
	BASELINE,
	SHOW,
	PLUMBING,
	BYTES,
	DEBUG_SYMBOLS,
	SYSROOT,
	NODES,
	SAMPLES,
	SOURCES,
	ANONYMOUS,
	BLOCKS,
	LABEL
};

static const struct option_spec options_of_export[] = {
	[TO] = {.name = "to",
		.value = "FORMAT",
		.text = "what to write",
		.choices = exporter_names + 1},
	[METRIC] = {.name = "metric",
		    .value = "METRIC",
		    .text = "what is counted, peak if not given",
		    .choices = metric_names + 1},
	[OUTPUT] = {.name = "output",
		    .letter = 'o',
		    .value = "FILE",
		    .text = "file to write instead of standard output; compressed if its name "
			    "ends in .gz or .zst; of parquet a folder"},
	[MERGE] = {.name = "merge",
		   .text = "all recordings, or those of a directory, as one: see report"},
	[FOLD] = {.name = "fold",
		  .text = "in formats of stacks: frames that are not your own code are one, the "
			  "call that your code made"},
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
	[SYSROOT] = SYSROOT_OPTION,
	[NODES] =
		{.name = "nodes",
		 .value = "N",
		 .text = "in html, speedscope and firefox: so many nodes of stacks, the widest; in "
			 "firefox ten times as many allocations one by one, the largest",
		 .standard = "20000"},
	[SAMPLES] = {.name = "samples",
		     .value = "N",
		     .text = "in pprof: so many stacks, those with most in use; the others are one "
			     "sample, (others)",
		     .standard = "10000"},
	[SOURCES] = SOURCES_OPTION,
	[ANONYMOUS] = {.name = "anonymous",
		       .text = "in html: without paths (but for their last parts), arguments and "
			       "the host's name"},
	[BLOCKS] = {.name = "blocks", .text = "in csv: a row for each allocation"},
	[LABEL] = LABEL_OPTION,
};

static const int exclusive[][2] = {
	{MERGE, BASELINE}, {SOURCES, ANONYMOUS}, {MERGE, BLOCKS}, {METRIC, BLOCKS}};

/* What is exported, and how; the recording of `subject` is opened by it. */
struct wanted {
	const struct export_format *exporter;
	const struct filter *filter; /* NULL: all blocks */
	struct naming naming;        /* for the names of all recordings */
	struct export_subject subject;
};

static struct err *write_out(const struct options *options, const struct wanted *wanted,
			     const struct export_subject *subject)
{
	return exporter_write(wanted->exporter, options->values[OUTPUT], subject, NULL);
}

static struct err *select_matching(const struct wanted *wanted, struct export_subject *subject,
				   struct filter_view *view)
{
	struct err *err;

	if (!wanted->filter)
		return NULL;
	err = filter_view_create(wanted->filter, subject->blocks, subject->symbolized, view);
	subject->recording = view->recording;
	subject->match = &view->match;
	return err;
}

static int export_one(const struct options *options, const struct wanted *wanted)
{
	struct export_subject subject = wanted->subject;
	cleanup(loaded_close) struct loaded loaded = {0};
	cleanup(filter_view_deinit) struct filter_view view = {0};
	const char *path = options->operands[0];
	bool blocks = wanted->filter || wanted->exporter->of_blocks ||
		      wanted->exporter->with_blocks || subject.each_block;
	struct err *err;

	if (!(blocks ? loaded_open_filterable(path, &wanted->naming, &loaded)
		     : loaded_open(path, &wanted->naming, &loaded)))
		return CLI_FAILED;
	subject.recording = subject.blocks = loaded.recording;
	subject.symbolized = loaded.symbolized;
	err = err_prefix(select_matching(wanted, &subject, &view), "%s", path);
	if (!err)
		err = write_out(options, wanted, &subject);
	return cli_report_err(err);
}

/* The web interface as a file: it reads the recording by itself, as the server does. */
static int export_page(const struct command *command, const struct options *options,
		       const struct wanted *wanted)
{
	cleanup(buf_deinit) struct buf conditions = BUF_EMPTY;
	struct html_export html = {
		.path = options->operands[0],
		.debug_paths = options->many,
		.sources = sources_option(options->values[SOURCES]),
		.anonymous = options->values[ANONYMOUS] != NULL,
		.nodes = wanted->subject.nodes,
	};

	if (!debug_symbols_check(options))
		return CLI_FAILED;
	filter_options_put_query(&conditions, command, options);
	html.conditions = buf_string(&conditions);
	return cli_report_err(html.conditions
				      ? exporter_write(wanted->exporter, options->values[OUTPUT],
						       &wanted->subject, &html)
				      : buf_finish(&conditions));
}

static int export_merged(const struct options *options, const struct wanted *wanted)
{
	struct export_subject subject = wanted->subject;
	cleanup(recording_paths_deinit) struct recording_paths paths = {0};
	cleanup(merged_close) struct merged merged = {0};
	struct err *err = newest_find_merged(options, &paths);

	if (err)
		return cli_report_err(err);
	merged_open(&paths, &wanted->naming, &merged);
	if (merged.merge) {
		subject.recording = merge_recording(merged.merge);
		subject.symbolized = merge_symbolized(merged.merge);
		err = write_out(options, wanted, &subject);
	}
	if (err)
		return cli_report_err(err);
	return merged.failed ? CLI_FAILED : CLI_OK;
}

static struct err *export_diff(const struct options *options, const struct wanted *wanted,
			       const struct diff_source sources[DIFF_SIDES])
{
	struct export_subject subject = wanted->subject;
	struct diff_side sides[DIFF_SIDES];
	struct diff *diff;
	struct err *err;

	for (int i = 0; i < DIFF_SIDES; i++) {
		sides[i] = (struct diff_side){sources[i].narrowed.recording,
					      sources[i].narrowed.symbolized, 1};
		subject.moments[i] = sources[i].operand.moment;
	}
	err = diff_create(sides, &diff);
	if (err)
		return err;
	subject.diff = diff;
	err = write_out(options, wanted, &subject);
	diff_destroy(diff);
	return err;
}

static int export_change(const struct command *command, const struct options *options,
			 const struct wanted *wanted)
{
	const char *const typed[DIFF_SIDES] = {options->values[BASELINE], options->operands[0]};
	const struct diff_source_wanted opened = {.naming = wanted->naming};
	struct diff_source sources[DIFF_SIDES] = {0};
	int status = CLI_OK;

	for (int i = 0; status == CLI_OK && i < DIFF_SIDES; i++)
		status = diff_source_read(command, options, typed[i], false, &sources[i]);
	for (int i = 0; status != CLI_USAGE && i < DIFF_SIDES; i++)
		if (!diff_source_open(&sources[i], &opened))
			status = CLI_FAILED;
	if (status == CLI_OK)
		status = cli_report_err(export_diff(options, wanted, sources));
	for (int i = 0; i < DIFF_SIDES; i++)
		diff_source_deinit(&sources[i]);
	return status;
}

/* Options that not all formats have a use for, and whether this one has. */
static const struct option_spec *find_useless(const struct export_format *exporter,
					      const struct options *options)
{
	const struct {
		int id;
		bool used;
	} special[] = {
		{METRIC, exporter->of_metric},
		{FOLD, exporter->of_stacks},
		{MERGE, !exporter->of_blocks && !exporter->of_page && !exporter->of_process &&
				!exporter->of_folder},
		{BASELINE, exporter->of_diffs},
		{SHOW, exporter->of_metric && exporter->of_diffs},
		{BYTES, !exporter->of_page && !exporter->of_folder},
		{NODES, exporter->of_nodes},
		{SAMPLES, strcmp(exporter->name, "pprof") == 0},
		{SOURCES, exporter->of_page},
		{ANONYMOUS, exporter->of_page},
		{BLOCKS, strcmp(exporter->name, "csv") == 0},
		{LABEL, exporter->of_folder},
	};

	for (size_t i = 0; i < ARRAY_COUNT(special); i++)
		if (options->values[special[i].id] && !special[i].used)
			return &options_of_export[special[i].id];
	return NULL;
}

/* false: the format has no use for an option that was given; an error was printed. */
static bool check_options(const struct export_format *exporter, const struct options *options)
{
	const struct option_spec *useless = find_useless(exporter, options);

	if (useless)
		cli_error(CLI_USAGE, "--%s is not for --to %s", useless->name, exporter->name);
	else if (options->values[PLUMBING] && !options->values[FOLD])
		cli_error(CLI_USAGE, "--plumbing needs --fold");
	else if (options->values[SHOW] && !options->values[BASELINE])
		cli_error(CLI_USAGE, "--show needs --baseline");
	else
		return true;
	return false;
}

/*
 * false: bytes that are no text would go to a terminal, or files to standard output; an error was
 * printed.
 */
static bool check_output(const struct export_format *exporter, const struct options *options)
{
	const char *path = options->values[OUTPUT];

	if (path && strcmp(path, "-") != 0)
		return true;
	if (exporter->of_folder)
		cli_error(CLI_USAGE, "--to %s writes files into a folder: -o DIR", exporter->name);
	else if (exporter->binary && isatty(STDOUT_FILENO))
		cli_error(CLI_USAGE, "--to %s is no text for a terminal: -o FILE", exporter->name);
	else
		return true;
	return false;
}

/* false: a condition is about paths, which are not there any more; an error was printed. */
static bool check_anonymous(const struct command *command, const struct options *options)
{
	static const char *const about_paths[] = {
		"source-regex",          "module-regex",          "suppress",
		"negative-source-regex", "negative-module-regex",
	};

	for (size_t i = 0; i < ARRAY_COUNT(about_paths); i++)
		if (!filter_options_exclude_one(command, options, ANONYMOUS, about_paths[i]))
			return false;
	return true;
}

static int run_export(const struct command *command, const struct options *given)
{
	struct options all = *given;
	const struct options *options = &all;
	const struct export_format *exporter = exporter_find(options->values[TO]);
	cleanup(filter_destroy_at) struct filter *filter = NULL;
	bool merge = options->values[MERGE] != NULL;
	int show = DIFF_SHOW_LARGER;
	struct wanted wanted = {
		.exporter = exporter,
		.subject.exact = options->values[BYTES] != NULL,
		.subject.fold = options->values[FOLD] ? TREE_FOLDED : TREE_WHOLE,
		.subject.each_block = options->values[BLOCKS] != NULL,
		.subject.labels = options->labels,
	};
	int status;

	if (!exporter || !newest_operand(command, &all) ||
	    // What is compared has moments of its own.
	    (!options->values[BASELINE] && !moment_operands_take(command, &all)) ||
	    !metric_option(command, options, METRIC, &wanted.subject.metric) ||
	    !options_operands(command, options, 1, merge ? INT32_MAX : 1,
			      merge ? "a recording" : "one recording") ||
	    !options_choice(command, options, SHOW, &show) ||
	    !options_number(command, options, NODES, 1, HTML_FILE_NODES, &wanted.subject.nodes) ||
	    !options_number(command, options, SAMPLES, 1, PPROF_SAMPLES, &wanted.subject.samples) ||
	    !options_exclusive(command, options, exclusive, ARRAY_COUNT(exclusive)) ||
	    !check_options(exporter, options) || !check_output(exporter, options) ||
	    !output_spares(options, OUTPUT) || !check_anonymous(command, options) ||
	    !filter_options_read(command, options, &filter) ||
	    !filter_options_exclude(command, options, MERGE))
		return CLI_USAGE;
	wanted.subject.show = (enum diff_show)show;
	wanted.filter = filter;
	wanted.subject.metric_asked = options->values[METRIC] != NULL;
	if (exporter->of_page)
		return export_page(command, options, &wanted);
	if (!naming_options_open(options, PLUMBING, &wanted.naming))
		return CLI_FAILED;
	status = options->values[BASELINE] ? export_change(command, options, &wanted)
		 : merge                   ? export_merged(options, &wanted)
					   : export_one(options, &wanted);
	naming_options_close(&wanted.naming);
	return status;
}

/* " html: … flamegraph: …": +1 skips the first space. */
#define EXPORTER(name, menu, ending, text, ...) " " #name ": " text
static const char details[] =
#include "report/export/exporters.def"
	"\n\n"
	"RECORDING@MOMENT is what was live then. Without a recording: your newest in the "
	"working directory.";
#undef EXPORTER

const struct command_body command_export = {
	.options = options_of_export,
	.option_count = ARRAY_COUNT(options_of_export),
	.filters = true,
	.names = true,
	.run = run_export,
	.details = details + 1,
};
