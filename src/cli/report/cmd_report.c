/* mallow report: text, JSON or CSV on standard output. This file reads what is wanted. */
#include "analysis/filter/filter_maps.h"
#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/options/shared_options.h"
#include "cli/options/filter_options.h"
#include "cli/options/moment_operand.h"
#include "cli/recordings/newest.h"
#include "cli/options/options.h"
#include "cli/recordings/recording_paths.h"
#include "cli/report/report_writer.h"
#include "hosted/cleanup.h"

#define TOP_SITES    10
#define TOP_ROWS     20
#define TOP_BRANCHES 12
#define POOL_SITES   3

enum {
	JSON,
	STACKS,
	CSV,
	TOP,
	SORT,
	TREE,
	BY,
	INCLUSIVE,
	HISTOGRAM,
	SUPPRESSIONS,
	ERRORS,
	POOLS,
	MAPPINGS,
	MERGE,
	BYTES,
	WIDTH,
	FULL,
	PLUMBING,
	DEBUG_SYMBOLS,
	SYSROOT,
};

/* What --by takes, in the order of its choices. */
static const enum block_groups_by keys[] = {
	BLOCK_GROUPS_FUNCTION, BLOCK_GROUPS_FRAME,  BLOCK_GROUPS_FILE, BLOCK_GROUPS_LINE,
	BLOCK_GROUPS_MODULE,   BLOCK_GROUPS_THREAD, BLOCK_GROUPS_SIZE, BLOCK_GROUPS_MARK};

static const struct option_spec options_of_report[] = {
	[JSON] = {.name = "json",
		  .text = "as JSON, all sites unless --top says otherwise; an array of several "
			  "recordings"},
	[STACKS] = {.name = "stacks",
		    .value = "FORM",
		    .text = "in JSON: once, in tables to which sites refer by number, or in each "
			    "site",
		    .choices = "table inline"},
	[CSV] = CSV_OPTION,
	[TOP] = {.name = "top",
		 .value = "N",
		 .text = "sites shown, or rows of --by, 0 for all",
		 .standard = "10, of --by 20"},
	[SORT] = {.name = "sort",
		  .value = "METRIC",
		  .text = "what sites are ordered by; peak if not given, with --by mark total",
		  .choices = metric_names + 1},
	[TREE] = {.name = "tree", .text = "the call tree, outermost function first"},
	[BY] = {.name = "by",
		.value = "WHAT",
		.text = "sums by it instead of sites; by function and file of your own code; each "
			"with those of all that it called, too",
		.choices = "function frame file line module thread size mark"},
	[INCLUSIVE] = {.name = "inclusive",
		       .text = "with --by: the order is that of the inclusive sums"},
	[HISTOGRAM] = {.name = "histogram",
		       .value = "WHAT",
		       .text = "how many allocations are how large, or lived how long",
		       .choices = "size lifetime"},
	[SUPPRESSIONS] = {.name = "suppressions",
			  .value = "FILE",
			  .text = "leaks that are known are not counted: lines leak:PATTERN as "
				  "LeakSanitizer reads them"},
	[ERRORS] =
		{.name = "errors",
		 .text = "wrong frees instead of sites: of what was never allocated, done twice, "
			 "or by a function that does not belong to the allocation"},
	[POOLS] = {.name = "pools",
		   .text = "what the program's own pools hold (mallow_pool_alloc()), with the "
			   "sites of "
			   "each, instead of all sites"},
	[MAPPINGS] = {.name = "mappings",
		      .text = "what the program mapped itself (mmap) instead of sites: bytes at "
			      "most and at the end, by stack; with filters that mappings have"},
	[MERGE] = {.name = "merge", .text = "all recordings as one: sites by file and place in it"},
	[BYTES] = {.name = "bytes", .text = "sizes and counts to the last digit"},
	[WIDTH] = WIDTH_OPTION,
	[FULL] = {.name = "full", .text = "cut, fold and leave out nothing"},
	[PLUMBING] = PLUMBING_OPTION,
	[DEBUG_SYMBOLS] = DEBUG_SYMBOLS_OPTION,
	[SYSROOT] = SYSROOT_OPTION,
};

static const int exclusive[][2] = {{JSON, CSV},
				   {JSON, TREE},
				   {CSV, TREE},
				   {CSV, ERRORS},
				   {CSV, POOLS},
				   {BY, TREE},
				   {BY, HISTOGRAM},
				   {BY, ERRORS},
				   {BY, POOLS},
				   {HISTOGRAM, TREE},
				   {HISTOGRAM, SORT},
				   {HISTOGRAM, TOP},
				   {HISTOGRAM, MERGE},
				   {HISTOGRAM, ERRORS},
				   {HISTOGRAM, POOLS},
				   {HISTOGRAM, SUPPRESSIONS},
				   {SUPPRESSIONS, ERRORS},
				   {SUPPRESSIONS, POOLS},
				   {ERRORS, TREE},
				   {ERRORS, SORT},
				   {ERRORS, MERGE},
				   {POOLS, TREE},
				   {POOLS, ERRORS},
				   {PLUMBING, HISTOGRAM},
				   {WIDTH, FULL},
				   {WIDTH, JSON},
				   {WIDTH, CSV},
				   {MAPPINGS, TREE},
				   {MAPPINGS, BY},
				   {MAPPINGS, HISTOGRAM},
				   {MAPPINGS, ERRORS},
				   {MAPPINGS, POOLS},
				   {MAPPINGS, MERGE},
				   {MAPPINGS, SUPPRESSIONS}};

/* The view of the option that was given. These options exclude each other. */
static enum report_view view_of(const struct options *options)
{
	return options->values[TREE]        ? REPORT_TREE
	       : options->values[BY]        ? REPORT_BREAKDOWN
	       : options->values[HISTOGRAM] ? REPORT_HISTOGRAM
	       : options->values[ERRORS]    ? REPORT_ERRORS
	       : options->values[POOLS]     ? REPORT_POOLS
	       : options->values[MAPPINGS]  ? REPORT_MAPPINGS
					    : REPORT_SITES;
}

/* How many rows are shown unless the user says otherwise; 0: all. */
static uint64_t usual_top(const struct report_wanted *wanted)
{
	if (wanted->format != REPORT_TEXT || wanted->view == REPORT_ERRORS)
		return 0;
	return wanted->view == REPORT_TREE        ? TOP_BRANCHES
	       : wanted->view == REPORT_BREAKDOWN ? TOP_ROWS
						  : TOP_SITES;
}

static bool read_choices(const struct command *command, const struct options *options,
			 struct report_wanted *wanted)
{
	int by = 0, histogram = 0, stacks = 0;

	if (!metric_option(command, options, SORT, &wanted->metric) ||
	    !options_choice(command, options, BY, &by) ||
	    !options_choice(command, options, HISTOGRAM, &histogram) ||
	    !options_choice(command, options, STACKS, &stacks))
		return false;
	wanted->metric_asked = options->values[SORT] != NULL;
	wanted->by = keys[by];
	// Little of what most marks began is still there at the peak.
	if (wanted->by == BLOCK_GROUPS_MARK && !options->values[SORT])
		wanted->metric = METRIC_TOTAL;
	wanted->histogram = (enum histogram_of)histogram;
	wanted->inline_stacks = stacks == 1;
	return true;
}

static bool read_top(const struct command *command, const struct options *options,
		     struct report_wanted *wanted)
{
	uint64_t top = usual_top(wanted);

	if (!options_number(command, options, TOP, 0, top, &top))
		return false;
	wanted->page = !options->values[TOP];
	wanted->top = top > UINT32_MAX ? 0 : (uint32_t)top;
	wanted->pool_sites = options->values[TOP] ? wanted->top : POOL_SITES;
	return true;
}

/*
 * false: options do not fit together. Some need single blocks, which merged recordings do not have;
 * some need another option.
 */
static bool fits_together(const struct options *options, const struct report_wanted *wanted)
{
	if (wanted->merge && options->values[BY] && breakdown_view_of_blocks(wanted->by))
		cli_error(CLI_USAGE, "--by %s and --merge exclude each other",
			  block_groups_word(wanted->by));
	else if (options->values[INCLUSIVE] &&
		 (!options->values[BY] || breakdown_view_of_blocks(wanted->by)))
		cli_error(CLI_USAGE,
			  "--inclusive needs --by function, frame, file, line or module");
	else if (options->values[STACKS] && !options->values[JSON])
		cli_error(CLI_USAGE, "--stacks needs --json");
	else
		return true;
	return false;
}

/* false: the filter has a condition that mappings do not have. */
static bool fits_mappings(const struct filter *filter)
{
	size_t count;
	const struct filter_parameter *parameters = filter_parameters(&count);

	for (size_t i = 0; i < count; i++) {
		if (!filter_value(filter, i) || filter_maps_have(i))
			continue;
		cli_error(CLI_USAGE,
			  "--mappings: mappings have no condition '%s'; docs/filter.md says which "
			  "they have",
			  parameters[i].name);
		return false;
	}
	return true;
}

/* Reads the filter. *ret is never NULL. */
static bool read_filter(const struct command *command, const struct options *options,
			struct filter **ret)
{
	struct err *err;

	if (!filter_options_read(command, options, ret) ||
	    !filter_options_exclude(command, options, ERRORS) ||
	    !filter_options_exclude(command, options, POOLS) ||
	    !filter_options_exclude(command, options, MERGE))
		return false;
	err = *ret ? NULL : filter_create(ret);
	if (!err)
		return !options->values[MAPPINGS] || fits_mappings(*ret);
	cli_report_err(err);
	return false;
}

/* Reads all options. CLI_OK: they fit together. */
static int read_wanted(const struct command *command, const struct options *options,
		       struct report_wanted *wanted, struct filter **filter)
{
	struct err *err = NULL;

	if (!options_operands(command, options, 1, INT32_MAX, "a recording") ||
	    !read_choices(command, options, wanted) || !read_top(command, options, wanted) ||
	    !style_options(command, options, WIDTH, BYTES, FULL, &wanted->style) ||
	    !csv_option(command, options, CSV) ||
	    !options_exclusive(command, options, exclusive, ARRAY_COUNT(exclusive)) ||
	    !fits_together(options, wanted) || !read_filter(command, options, filter))
		return CLI_USAGE;
	wanted->filter = *filter;
	if (options->values[SUPPRESSIONS])
		err = suppressions_file_read(options->values[SUPPRESSIONS], &wanted->leaks);
	return cli_report_err(err);
}

static int run_report(const struct command *command, const struct options *given)
{
	struct options all = *given;
	const struct options *options = &all;
	cleanup(recording_paths_deinit) struct recording_paths paths = {0};
	cleanup(filter_destroy_at) struct filter *filter = NULL;
	struct report_wanted wanted = {
		.format = options->values[JSON]  ? REPORT_JSON
			  : options->values[CSV] ? REPORT_CSV
						 : REPORT_TEXT,
		.csv_raw = csv_option_raw(options, CSV),
		.view = view_of(options),
		.inclusive = options->values[INCLUSIVE] != NULL,
		.merge = options->values[MERGE] != NULL,
	};
	struct err *err;
	int status;

	if (!newest_operand(command, &all) || !moment_operands_take(command, &all))
		return CLI_USAGE;
	status = read_wanted(command, options, &wanted, &filter);
	if (status == CLI_OK && !naming_options_open(options, PLUMBING, &wanted.naming))
		status = CLI_FAILED;
	if (status == CLI_OK) {
		err = wanted.merge ? newest_find_merged(options, &paths)
				   : recording_paths_find(options, &paths);
		status = err ? cli_report_err(err) : report_writer_run(&wanted, &paths);
	}
	naming_options_close(&wanted.naming);
	suppressions_destroy(wanted.leaks);
	return status;
}

const struct command_body command_report = {
	.options = options_of_report,
	.option_count = ARRAY_COUNT(options_of_report),
	.filters = true,
	.coloured = true,
	.names = true,
	.paged = true,
	.run = run_report,
	.details =
		"A site is all allocations with one call stack. peak: its bytes that were live "
		"when the whole program had most memory live. leaked: never freed in the "
		"recording. total: all it ever allocated. temporary: calls whose block was "
		"freed with no other allocation by the same thread in between.\n\n"
		"--by puts the same sums together otherwise. self: what a function, file or "
		"module asked for itself. Functions and files are those of your own code, frames "
		"and modules all: there functions of allocators are handed on to those that "
		"called them; inclusive: all stacks that it is in, each once. Of threads, "
		"sizes and marks there is the own peak instead, the most that they had live. A "
		"mark has what was allocated from it to the next one.\n\n"
		"Suppressions hide what leaks by a stack of which a frame's module, function or "
		"file has the pattern in it, with * for anything, ^ and $ for its ends.\n\n"
		"MOMENT is a time since the start (1m30s), a part of the run (50%), peak, end, "
		"on#2, off#2, a mark, or UNIX seconds. RECORDING@MOMENT is --at MOMENT: what was "
		"live then.\n\n"
		"Without a recording: your newest in the working directory. "
		"A directory stands for all recordings in it. Of several, one report comes "
		"after the other; with --merge, which takes all of the run that one recording is "
		"of, the peak is that of all processes together, at "
		"the moment when they had most memory live, and a process that has ended has "
		"none.\n\n"
		"Pools are the program's own arenas and slabs, as it told mallow by "
		"mallow_pool_alloc(): what they hold is in blocks that are counted above. The "
		"peak of a pool is when it held most, that of its site the share in that; of "
		"merged recordings these peaks are added up.\n\n"
		"Mappings are the program's own calls of mmap; memory among them is anonymous and "
		"writable, so it is used as malloc's is. Metrics mean: peak, the most that a site "
		"had mapped; leaked, mapped at the end; total, mapped in all.",
};
