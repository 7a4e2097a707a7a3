/* mallow check: a gate for CI. Holds recordings to limits, and tells by its exit status. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/checks/verdicts.h"
#include "analysis/filter/moment.h"
#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/options/moment_operand.h"
#include "cli/options/options.h"
#include "cli/options/shared_options.h"
#include "cli/output/output.h"
#include "cli/recordings/newest.h"
#include "cli/recordings/recording_paths.h"
#include "cli/report/check_gate.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "report/words/shell_word.h"
#include "settings/settings.h"

/* The first options are the limits: their ids are those of enum check. */
enum {
	BASELINE = CHECKS,
	TOLERANCE,
	ALLOW_INCOMPLETE,
	ALLOW_UNSEEN,
	SUPPRESSIONS,
	MERGE,
	FORMAT,
	OUTPUT,
	HTML,
	PLUMBING,
	DEBUG_SYMBOLS,
	SYSROOT,
};

static const struct option_spec options_of_check[] = {
#define CHECK(NAME, name_, unit, metric, scope, value_, text_)                                     \
	[CHECK_##NAME] = {.name = "max-" name_, .value = value_, .text = "at most so many " text_},
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
	[ALLOW_UNSEEN] = {.name = "allow-unseen",
			  .text = "judge what was seen of a program whose memory mallow sees in "
				  "part: it has an allocator of its own"},
	[SUPPRESSIONS] = {.name = "suppressions",
			  .value = "FILE",
			  .text = "leaks that are known are not counted: see report"},
	[MERGE] = {.name = "merge", .text = "all recordings as one: see report"},
	[FORMAT] = {.name = "format",
		    .value = "FORMAT",
		    .text = "how results are written",
		    .standard = "text",
		    .choices = check_formats + 1},
	[OUTPUT] = {.name = "output",
		    .letter = 'o',
		    .value = "FILE",
		    .text = "file to write instead of standard output"},
	[HTML] = {.name = "html",
		  .value = "FILE",
		  .text = "write the recording as a page in one file, too, with the results on "
			  "top: for CI to keep"},
	[PLUMBING] = PLUMBING_OPTION,
	[DEBUG_SYMBOLS] = DEBUG_SYMBOLS_OPTION,
	[SYSROOT] = SYSROOT_OPTION,
};

static const int exclusive[][2] = {{CHECK_GROWTH, MERGE}, {HTML, MERGE}};

/* Parses bytes a second: "1M/s" or "1M". */
static bool parse_rate(const char *text, uint64_t *ret)
{
	size_t length = strlen(text);
	char size[32];

	if (length > 2 && strcmp(text + length - 2, "/s") == 0)
		length -= 2;
	if (length >= sizeof(size))
		return false;
	memcpy(size, text, length);
	size[length] = 0;
	return setting_parse_size(size, ret);
}

/*
 * *ret: the value of an option that is a percentage, as of percent_parse(); unchanged if it was not
 * given. false: it is none, and an error was printed.
 */
static bool read_percentage(const struct command *command, const struct options *options, size_t id,
			    uint64_t *ret)
{
	const char *text = options->values[id];

	if (!text || percent_parse(text, ret))
		return true;
	cli_error(CLI_USAGE,
		  "'%s' is no value of --%s: a percentage such as 5%% or 12.5%% is wanted", text,
		  command->body->options[id].name);
	return false;
}

static bool read_rate(const struct command *command, const struct options *options, size_t id,
		      uint64_t *ret)
{
	const char *text = options->values[id];

	if (!text || parse_rate(text, ret))
		return true;
	cli_error(CLI_USAGE,
		  "'%s' is no value of --%s: a size a second such as 64K/s or 1M/s is wanted", text,
		  command->body->options[id].name);
	return false;
}

static bool read_one_limit(const struct command *command, const struct options *options,
			   enum check check, uint64_t *ret)
{
	switch (check_info(check)->unit) {
	case CHECK_UNIT_BYTES:
		return options_size(command, options, check, 0, ret);
	case CHECK_UNIT_COUNT:
		return options_number(command, options, check, 0, 0, ret);
	case CHECK_UNIT_SHARE:
		return read_percentage(command, options, check, ret);
	case CHECK_UNIT_RATE:
		break;
	}
	return read_rate(command, options, check, ret);
}

/*
 * Reads the limits. false: no limit was given, and no baseline, which makes limits, too; or a value
 * is wrong; an error was printed.
 */
static bool read_limits(const struct command *command, const struct options *options,
			struct check_limits *ret)
{
	cleanup(buf_deinit) struct buf names = BUF_EMPTY;
	const struct option_spec *other = &options_of_check[BASELINE];
	bool any = options->values[BASELINE];

	for (enum check check = 0; check < CHECKS; check++) {
		ret->has[check] = options->values[check] != NULL;
		any |= ret->has[check];
		if (!read_one_limit(command, options, check, &ret->most[check]))
			return false;
		buf_printf(&names, "--%s %s, ", check_info(check)->option,
			   check_info(check)->value);
	}
	buf_printf(&names, "or --%s %s", other->name, other->value);
	if (!any)
		cli_error(CLI_USAGE, "'%s' needs a limit: %s", command->name,
			  buf_string(&names) ? buf_string(&names) : "");
	return any;
}

/* What is wanted, and the memory that it is in. */
struct check_options {
	struct check_wanted wanted;
	struct filter *filter;
	struct suppressions *suppressions;
	struct buf query; /* for --html: the conditions, as a request has them */
	char *conditions, *directory, *old_path;
};

static void check_options_deinit(struct check_options *check)
{
	filter_destroy(check->filter);
	suppressions_destroy(check->suppressions);
	naming_options_close(&check->wanted.sides.naming);
	free(check->conditions);
	free(check->directory);
	free(check->old_path);
	buf_deinit(&check->query);
}

static bool read_baseline(const struct command *command, const struct options *options,
			  struct check_options *check)
{
	if (options->values[TOLERANCE] && !options->values[BASELINE]) {
		cli_error(CLI_USAGE, "--tolerance needs --baseline");
		return false;
	}
	return read_percentage(command, options, TOLERANCE, &check->wanted.tolerance);
}

static bool read_options(const struct command *command, const struct options *options,
			 struct check_options *check)
{
	int format = CHECK_TEXT;

	if (!options_operands(command, options, 1, INT32_MAX, "a recording") ||
	    !read_limits(command, options, &check->wanted.limits) ||
	    !read_baseline(command, options, check) ||
	    !options_choice(command, options, FORMAT, &format) ||
	    !options_exclusive(command, options, exclusive, ARRAY_COUNT(exclusive)) ||
	    !filter_options_read(command, options, &check->filter) ||
	    !filter_options_exclude(command, options, MERGE))
		return false;
	check->wanted.format = (enum check_format)format;
	check->wanted.sides.filter = check->filter;
	check->wanted.sides.needs =
		RECORDING_CHECKED |
		(check->wanted.limits.has[CHECK_GROWTH] && !check->filter ? RECORDING_RUN_FACTS
									  : 0u);
	check->wanted.baseline = options->values[BASELINE];
	check->wanted.output = options->values[OUTPUT];
	check->wanted.merge = options->values[MERGE] != NULL;
	check->wanted.about.allow_incomplete = options->values[ALLOW_INCOMPLETE] != NULL;
	check->wanted.about.allow_unseen = options->values[ALLOW_UNSEEN] != NULL;
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

/* Says what the page is made of, if one is wanted. */
static struct err *take_html(const struct command *command, const struct options *options,
			     const struct recording_paths *paths, struct check_options *check)
{
	struct check_wanted *wanted = &check->wanted;

	wanted->html_output = options->values[HTML];
	if (!wanted->html_output)
		return NULL;
	if (paths->items.count != 1)
		return err_create("--html wants one recording, not %zu", paths->items.count);
	filter_options_put_query(&check->query, command, options);
	wanted->html = (struct html_export){
		.path = paths->items.items[0],
		.debug_paths = options->many,
		.conditions = buf_string(&check->query),
		.nodes = HTML_FILE_NODES,
	};
	return wanted->html.conditions ? NULL : err_no_memory();
}

/* Reads the files that options name. */
static struct err *read_files(const struct command *command, const struct options *options,
			      struct check_options *check)
{
	cleanup(buf_deinit) struct buf baseline = BUF_EMPTY;

	if (options->values[SUPPRESSIONS]) {
		struct err *err =
			suppressions_file_read(options->values[SUPPRESSIONS], &check->suppressions);

		if (err)
			return err;
	}
	check->wanted.sides.suppressions = check->suppressions;
	check->conditions = make_conditions(command, options);
	check->directory = make_directory();
	if (!check->conditions || !check->directory)
		return err_no_memory();
	check->wanted.about.tool = program_invocation_name;
	check->wanted.about.conditions = check->conditions;
	check->wanted.about.directory = check->directory;
	// What `mallow diff` is to be told, unless several files are merged: it takes a directory.
	if (options->values[BASELINE] && !options->values[MERGE]) {
		shell_path_put(&baseline, options->values[BASELINE]);
		check->old_path = buf_take(&baseline);
		check->wanted.about.baseline = check->old_path;
		if (!check->old_path)
			return err_no_memory();
	}
	return NULL;
}

static int run_check(const struct command *command, const struct options *given)
{
	struct options all = *given;
	const struct options *options = &all;
	cleanup(recording_paths_deinit) struct recording_paths paths = {0};
	cleanup(check_options_deinit) struct check_options check = {0};
	struct err *err;

	buf_init(&check.query);
	if (!moment_operands_take(command, &all) || !read_options(command, options, &check) ||
	    !output_spares(options, OUTPUT) || !output_spares(options, HTML))
		return CLI_USAGE;
	if (!naming_options_open(options, PLUMBING, &check.wanted.sides.naming))
		return CLI_UNSURE;
	err = read_files(command, options, &check);
	if (!err)
		err = options->values[MERGE] ? newest_find_merged(options, &paths)
					     : recording_paths_find(options, &paths);
	if (!err)
		err = take_html(command, options, &paths, &check);
	return err ? check_gate_unsure(err) : check_gate_run(&check.wanted, &paths);
}

const struct command_body command_check = {
	.options = options_of_check,
	.option_count = ARRAY_COUNT(options_of_check),
	.filters = true,
	.coloured = true,
	.names = true,
	.run = run_check,
	.details =
		"Exits with 0 if all limits hold; 1 if one is broken; 2 if the command line is "
		"wrong; 3 if that cannot be told, because a recording cannot be read, is "
		"incomplete, does not have the number, or is of a program whose memory mallow "
		"sees in part. Of several recordings each is judged, "
		"and the highest status counts.\n\n"
		"Sizes are as elsewhere: 200M is 200 times 1024 times 1024 bytes. Limits are about "
		"the sums that report shows: with conditions about the blocks that match, with "
		"--suppressions without these leaks. Growth is the rate of the finding "
		"never_freed_grows, of the function that has most; with conditions it is that of "
		"all blocks that match. Several recordings as one have none.\n\n"
		"text: for people. junit: XML, a suite for each recording, a test for each limit. "
		"sarif: SARIF 2.1.0, for code scanning. github: annotations, to be printed by a "
		"job of GitHub Actions. Sources below the current directory are named from there "
		"on.",
};
