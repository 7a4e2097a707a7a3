/* mallow check: a gate for CI. Holds recordings to limits, and tells by its exit status. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/checked.h"
#include "cli/choice_option.h"
#include "cli/cli.h"
#include "cli/debug_symbols_option.h"
#include "cli/limit_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plumbing_option.h"
#include "cli/recording_paths.h"
#include "cli/suppressions_file.h"
#include "cli/terminal.h"
#include "hosted/cleanup.h"
#include "report/check/check_report.h"
#include "report/check/check_words.h"
#include "report/shell_word.h"

/* The first options are the limits: their ids are those of enum check. */
enum {
	BASELINE = CHECKS,
	TOLERANCE,
	ALLOW_INCOMPLETE,
	SUPPRESSIONS,
	MERGE,
	FORMAT,
	OUTPUT,
	PLUMBING,
	DEBUG_SYMBOLS
};

static const struct option_spec options_of_check[] = {
#define CHECK LIMIT_OPTIONS_CHECK
#include "analysis/checks/checks.def"
#undef CHECK
	[BASELINE] = {.name = "baseline",
		      .value = "RECORDING",
		      .text = "peak, leaked, calls and temporary calls may be no more than in this "
			      "older recording"},
	[TOLERANCE] = {.name = "tolerance",
		       .value = "N%",
		       .text = "with --baseline: so much more is allowed",
		       .standard = "0%"},
	[ALLOW_INCOMPLETE] = {.name = "allow-incomplete",
			      .text = "judge what is there of a recording that was cut short, lost "
				      "events or is damaged"},
	[SUPPRESSIONS] = {.name = "suppressions",
			  .value = "FILE",
			  .text = "leaks that are known are not counted: see report"},
	[MERGE] = {.name = "merge", .text = "all recordings as one: see report"},
	[FORMAT] = {.name = "format",
		    .value = "FORMAT",
		    .text = "how results are written",
		    .standard = "text",
		    .choices = check_formats},
	[OUTPUT] = {.name = "output",
		    .letter = 'o',
		    .value = "FILE",
		    .text = "file to write instead of standard output"},
	[PLUMBING] = PLUMBING_OPTION,
	[DEBUG_SYMBOLS] = DEBUG_SYMBOLS_OPTION,
};

static const int exclusive[][2] = {{CHECK_GROWTH, MERGE}};

struct gate {
	const struct options *options;
	struct check_limits limits;
	struct check_about about;
	struct checked_wanted wanted;
	struct checked old;             /* of --baseline */
	struct check_baseline baseline; /* recording NULL: none */
	enum check_format format;
	uint64_t verdicts, broken;
	/* Owned. */
	struct filter *filter;
	struct suppressions *suppressions;
	struct symbolizer *symbolizer;
	struct plumbing *plumbing;
	char *conditions, *directory, *old_path;
};

static void gate_deinit(struct gate *gate)
{
	checked_close(&gate->old);
	filter_destroy(gate->filter);
	suppressions_destroy(gate->suppressions);
	if (gate->symbolizer)
		symbolizer_destroy(gate->symbolizer);
	if (gate->plumbing)
		plumbing_destroy(gate->plumbing);
	free(gate->conditions);
	free(gate->directory);
	free(gate->old_path);
}

/* Prints an error of a recording that cannot be judged. */
static int unsure(struct err *err)
{
	return cli_report_err(err) == CLI_OK ? CLI_OK : CLI_UNSURE;
}

static int worse(int a, int b)
{
	return a > b ? a : b;
}

static bool read_baseline(const struct command *command, const struct options *options,
			  struct gate *gate)
{
	if (options->values[TOLERANCE] && !options->values[BASELINE]) {
		cli_error(CLI_USAGE, "--tolerance needs --baseline");
		return false;
	}
	return percent_option(command, options, TOLERANCE, &gate->baseline.tolerance);
}

static bool read_options(const struct command *command, const struct options *options,
			 struct gate *gate)
{
	int format = CHECK_TEXT;

	if (!options_operands(command, options, 1, INT32_MAX, "a recording") ||
	    !limit_options_read(command, options, BASELINE, &gate->limits) ||
	    !read_baseline(command, options, gate) ||
	    !choice_option(command, options, FORMAT, &format) ||
	    !options_exclusive(command, options, exclusive, ARRAY_COUNT(exclusive)) ||
	    !filter_options_read(command, options, &gate->filter) ||
	    !filter_options_exclude(command, options, MERGE) ||
	    !filter_options_exclude(command, options, CHECK_GROWTH))
		return false;
	gate->format = (enum check_format)format;
	gate->wanted.filter = gate->filter;
	gate->wanted.growth = gate->limits.has[CHECK_GROWTH];
	gate->about.allow_incomplete = options->values[ALLOW_INCOMPLETE] != NULL;
	return true;
}

static void put_option(struct buf *buf, const char *name, const char *value)
{
	if (!value)
		return;
	buf_printf(buf, " --%s ", name);
	shell_word_put(buf, value);
}

/* The options with which a report shows what is judged. NULL: no memory. */
static char *make_conditions(const struct command *command, const struct options *options)
{
	static const int same[] = {SUPPRESSIONS, PLUMBING};
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;

	buf_text(&buf, options->values[MERGE] ? " --merge" : "");
	filter_options_put(&buf, command, options);
	for (size_t i = 0; i < ARRAY_COUNT(same); i++)
		put_option(&buf, options_of_check[same[i]].name, options->values[same[i]]);
	for (size_t i = 0; i < options->many_count; i++)
		put_option(&buf, options_of_check[DEBUG_SYMBOLS].name, options->many[i]);
	return buf_take(&buf);
}

/* The directory that paths of sources are shown from: "" for the root, and if it is not known. */
static char *make_directory(void)
{
	char *directory = getcwd(NULL, 0);

	if (directory && strcmp(directory, "/") != 0)
		return directory;
	free(directory);
	return strdup("");
}

/* Says what `mallow diff` is to be told, unless it cannot leave out or merge what is not judged. */
static struct err *name_baseline(const struct options *options, struct gate *gate)
{
	cleanup(buf_deinit) struct buf path = BUF_EMPTY;

	if (!options->values[BASELINE] || options->values[SUPPRESSIONS] || options->values[MERGE])
		return NULL;
	shell_path_put(&path, options->values[BASELINE]);
	gate->old_path = buf_take(&path);
	gate->about.baseline = gate->old_path;
	return gate->old_path ? NULL : err_no_memory();
}

/* Reads the files that options name. */
static struct err *read_files(const struct command *command, const struct options *options,
			      struct gate *gate)
{
	struct err *err = plumbing_option_read(options->values[PLUMBING], &gate->plumbing);

	if (!err && options->values[SUPPRESSIONS])
		err = suppressions_file_read(options->values[SUPPRESSIONS], &gate->suppressions);
	if (err)
		return err;
	gate->wanted.suppressions = gate->suppressions;
	gate->wanted.naming = (struct naming){gate->symbolizer, gate->plumbing};
	gate->conditions = make_conditions(command, options);
	gate->directory = make_directory();
	if (!gate->conditions || !gate->directory)
		return err_no_memory();
	gate->about.tool = program_invocation_name;
	gate->about.conditions = gate->conditions;
	gate->about.directory = gate->directory;
	return name_baseline(options, gate);
}

/* Opens the baseline, if there is one. Returns the exit status. */
static int open_baseline(struct gate *gate)
{
	const char *path = gate->options->values[BASELINE];
	struct checked_wanted wanted = gate->wanted;

	if (!path)
		return CLI_OK;
	wanted.growth = false;
	if (!checked_open(path, &wanted, &gate->old))
		return CLI_UNSURE;
	gate->baseline.recording = gate->old.recording;
	gate->baseline.symbolized = gate->old.symbolized;
	if (gate->old.facts->complete || gate->about.allow_incomplete)
		return CLI_OK;

	cleanup(buf_deinit) struct buf gap = BUF_EMPTY;

	check_gap_put(&gap, gate->old.facts);
	return cli_error(CLI_UNSURE, "baseline '%s': %s (--allow-incomplete)", path,
			 buf_string(&gap) ? buf_string(&gap) : "");
}

/* What verdicts come to. */
static int status_of(struct gate *gate, const struct check_subject *subject)
{
	uint32_t broken = verdicts_count(subject->verdicts, VERDICT_BROKEN);
	bool doubt =
		check_is_incomplete(subject) || verdicts_count(subject->verdicts, VERDICT_UNKNOWN);

	gate->broken += broken;
	gate->verdicts += subject->verdicts->count;
	if (doubt && !gate->about.allow_incomplete)
		return CLI_UNSURE;
	return broken ? CLI_FAILED : CLI_OK;
}

/* Judges an open recording, and writes what comes out. Returns its status. */
static int judge(struct gate *gate, struct check_report *report, const struct checked *checked,
		 const struct check_subject *opened)
{
	cleanup(verdicts_deinit) struct verdicts verdicts = {0};
	struct check_subject subject = *opened;
	struct err *err =
		verdicts_make(&gate->limits, gate->baseline.recording ? &gate->baseline : NULL,
			      checked->recording, checked->symbolized, &verdicts);

	if (!err) {
		subject.facts = checked->facts;
		subject.verdicts = &verdicts;
	}
	check_report_add(report, &subject);
	return err ? unsure(err_prefix(err, "%s", subject.path)) : status_of(gate, &subject);
}

static int check_one(struct gate *gate, struct check_report *report, const char *path)
{
	cleanup(checked_close) struct checked checked = {0};
	cleanup(buf_deinit) struct buf operands = BUF_EMPTY;
	struct check_subject subject = {.path = path};

	shell_path_put(&operands, path);
	subject.operands = buf_string(&operands);
	if (!subject.operands)
		return unsure(err_no_memory());
	if (checked_open(path, &gate->wanted, &checked))
		return judge(gate, report, &checked, &subject);
	check_report_add(report, &subject);
	return CLI_UNSURE;
}

static int check_merged(struct gate *gate, struct check_report *report,
			const struct recording_paths *paths)
{
	cleanup(checked_close) struct checked checked = {0};
	cleanup(buf_deinit) struct buf operands = BUF_EMPTY;
	struct check_subject subject = {.path = paths->items.items[0]};
	int status = CLI_UNSURE;

	for (size_t i = 0; i < paths->items.count; i++) {
		buf_text(&operands, i ? " " : "");
		shell_path_put(&operands, paths->items.items[i]);
	}
	subject.operands = buf_string(&operands);
	if (!subject.operands)
		return unsure(err_no_memory());
	if (checked_open_merged(paths, &gate->wanted, &checked))
		status = judge(gate, report, &checked, &subject);
	else
		check_report_add(report, &subject);
	return checked.merged.failed ? CLI_UNSURE : status;
}

static int check_all(struct gate *gate, struct check_report *report,
		     const struct recording_paths *paths)
{
	int status = paths->failed ? CLI_UNSURE : CLI_OK;

	if (gate->options->values[MERGE] && paths->items.count)
		return worse(status, check_merged(gate, report, paths));
	for (size_t i = 0; i < paths->items.count; i++)
		status = worse(status, check_one(gate, report, paths->items.items[i]));
	return status;
}

/* Tells whom the file of -o does not reach what came out. */
static int say(const struct gate *gate, int status)
{
	const char *path = gate->options->values[OUTPUT];

	if (status == CLI_OK || !path || strcmp(path, "-") == 0)
		return status;
	return cli_error(status, "%ju of %ju limits broken%s: see '%s'", (uintmax_t)gate->broken,
			 (uintmax_t)gate->verdicts,
			 status == CLI_UNSURE ? ", and not all could be judged" : "", path);
}

static int write_report(struct gate *gate, const struct recording_paths *paths)
{
	const char *path = gate->options->values[OUTPUT];
	bool to_terminal = !path || strcmp(path, "-") == 0;
	struct style style =
		to_terminal ? terminal_page(STDOUT_FILENO) : (struct style){.width = TERMINAL_PAGE};
	struct check_report report;
	struct output output;
	struct err *err = output_open(path, &output);
	int status;

	if (err)
		return unsure(err);
	check_report_begin(&report, gate->format, &output.buf, &style, &gate->about);
	status = check_all(gate, &report, paths);
	check_report_end(&report);
	err = output_close(&output, NULL);
	return err ? unsure(err) : say(gate, status);
}

static int run(const struct command *command, const struct options *options)
{
	cleanup(recording_paths_deinit) struct recording_paths paths = {0};
	cleanup(gate_deinit) struct gate gate = {.options = options};
	struct err *err;
	int status;

	if (!read_options(command, options, &gate))
		return CLI_USAGE;
	if (!debug_symbols_open(options, &gate.symbolizer))
		return CLI_UNSURE;
	err = read_files(command, options, &gate);
	if (!err)
		err = recording_paths_find(options, &paths);
	if (err)
		return unsure(err);
	status = open_baseline(&gate);
	return status == CLI_OK ? write_report(&gate, &paths) : status;
}

const struct command_body command_check = {
	.options = options_of_check,
	.option_count = sizeof(options_of_check) / sizeof(options_of_check[0]),
	.filters = true,
	.run = run,
	.details =
		"Exits with 0 if all limits hold; 1 if one is broken; 2 if the command line is "
		"wrong; 3 if that cannot be told, because a recording cannot be read, is "
		"incomplete or does not have the number. Of several recordings each is judged, "
		"and the highest status counts.\n\n"
		"Sizes are as elsewhere: 200M is 200 times 1024 times 1024 bytes. Limits are about "
		"the sums that report shows: with conditions about the blocks that match, with "
		"--suppressions without these leaks. Growth is the rate of the finding "
		"never_freed_grows, of the function that has most; it is known of a whole "
		"recording only.\n\n"
		"text: for people. junit: XML, a suite for each recording, a test for each limit. "
		"sarif: SARIF 2.1.0, for code scanning. github: annotations, to be printed by a "
		"job of GitHub Actions. Sources below the current directory are named from there "
		"on.",
};
