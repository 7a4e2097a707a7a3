/* mallow diff: what changed from one recording, or moment of one, to another. */
#include "analysis/aggregate/aggregate.h"
#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/options/options.h"
#include "cli/options/shared_options.h"
#include "cli/output/output.h"
#include "cli/recordings/narrowed.h"
#include "cli/recordings/newest.h"
#include "hosted/cleanup.h"
#include "report/csv/diff_csv.h"
#include "report/json/diff_json.h"
#include "report/names/distinct_names.h"
#include "report/text/diff_text.h"

#define TOP_ROWS 10

enum {
	JSON,
	CSV,
	TOP,
	SORT,
	BY,
	PER,
	SUPPRESSIONS,
	MERGE,
	BYTES,
	WIDTH,
	FULL,
	PLUMBING,
	DEBUG_SYMBOLS,
	SYSROOT,
};

static const struct option_spec options_of_diff[] = {
	[JSON] = {.name = "json", .text = "as JSON, all rows unless --top says otherwise"},
	[CSV] = CSV_OPTION,
	[TOP] = {.name = "top", .value = "N", .text = "rows shown, 0 for all", .standard = "10"},
	[SORT] = {.name = "sort",
		  .value = "METRIC",
		  .text = "what is compared, peak if not given",
		  .choices = metric_names + 1},
	[BY] = {.name = "by",
		.value = "WHAT",
		.text = "rows are by functions of your own code unless it is given",
		.choices = "function site file module"},
	[PER] = {.name = "per",
		 .value = "WHAT",
		 .text = "numbers of before as if it had run as long as after (second), or had "
			 "allocated as often (call)",
		 .choices = "second call"},
	[SUPPRESSIONS] = {.name = "suppressions",
			  .value = "FILE",
			  .text = "leaks that are known are not counted: see report"},
	[MERGE] = {.name = "merge",
		   .text = "BEFORE and AFTER are directories, all recordings of each as one: see "
			   "report"},
	[BYTES] = {.name = "bytes", .text = "sizes and counts to the last digit"},
	[WIDTH] = WIDTH_OPTION,
	[FULL] = {.name = "full", .text = "cut and fold nothing"},
	[PLUMBING] = PLUMBING_OPTION,
	[DEBUG_SYMBOLS] = DEBUG_SYMBOLS_OPTION,
	[SYSROOT] = SYSROOT_OPTION,
};

static const int exclusive[][2] = {{JSON, CSV}, {WIDTH, FULL}, {WIDTH, JSON}, {WIDTH, CSV}};

enum per { PER_NOTHING, PER_SECOND, PER_CALL };

struct wanted {
	enum metric metric;
	enum diff_by by;
	enum per per;
	uint64_t top;
	struct style style; /* of a text, without names */
	struct diff_source_wanted sides;
};

static uint64_t length_of(const struct diff_source *side, enum per per)
{
	return per == PER_SECOND ? side->narrowed.facts->duration_ns
				 : recording_summary(side->narrowed.recording)->calls;
}

/* *ret: what the numbers of before are multiplied by. false: an error was printed. */
static bool find_scale(const struct wanted *wanted, const struct diff_source sides[DIFF_SIDES],
		       double *ret)
{
	uint64_t before, after;

	*ret = 1;
	if (wanted->per == PER_NOTHING)
		return true;
	before = length_of(&sides[DIFF_BEFORE], wanted->per);
	after = length_of(&sides[DIFF_AFTER], wanted->per);
	if (before && after) {
		*ret = (double)after / (double)before;
		return true;
	}
	cli_error(CLI_FAILED, "%s: --per %s: it has none",
		  sides[before ? DIFF_AFTER : DIFF_BEFORE].operand.path,
		  wanted->per == PER_SECOND ? "second" : "call");
	return false;
}

/* What a text shows besides the rows that are asked for. */
struct made {
	struct diff_rows functions, sites;
};

static void made_deinit(struct made *made)
{
	diff_rows_deinit(&made->functions);
	diff_rows_deinit(&made->sites);
}

/* *ret: the rows by something, which are made unless they are those of the view. */
static struct err *find_rows(const struct diff_view *view, enum diff_by by, struct diff_rows *made,
			     const struct diff_rows **ret)
{
	*ret = view->by == by ? view->rows : made;
	return view->by == by ? NULL : diff_rows_create(view->diff, by, view->metric, made);
}

static struct err *write_text(struct buf *buf, const struct wanted *wanted, struct diff_view *view)
{
	cleanup(distinct_names_deinit) struct distinct_names names = {0};
	cleanup(made_deinit) struct made made = {0};
	struct style style = wanted->style;
	struct err *err;

	style.names = &names;
	err = find_rows(view, DIFF_BY_FUNCTION, &made.functions, &view->functions);
	if (!err)
		err = find_rows(view, DIFF_BY_SITE, &made.sites, &view->sites);
	return err ? err : diff_text_write(buf, &style, view);
}

static struct err *write_view(struct buf *buf, const struct wanted *wanted,
			      const struct options *options, struct diff_view *view)
{
	struct json_writer json;
	struct csv_writer csv = {.buf = buf, .raw = csv_option_raw(options, CSV)};

	if (options->values[CSV]) {
		buf->shown = false;
		return diff_csv_write(&csv, view);
	}
	if (!options->values[JSON])
		return write_text(buf, wanted, view);
	json_init(&json, buf, true);
	return diff_json_write(&json, view);
}

/* Settles a metric that both sides know. */
static struct err *settle_metric(const struct diff_source sides[DIFF_SIDES], const char *asked,
				 enum metric *metric)
{
	const struct recording_facts *before = sides[DIFF_BEFORE].narrowed.facts;
	const struct recording_facts *after = sides[DIFF_AFTER].narrowed.facts;
	struct err *err = aggregate_settle(before, asked, metric);

	// What `before` has first, `after` may not have.
	if (!err && !asked && !aggregate_knows(after, *metric) &&
	    aggregate_knows(before, aggregate_first_metric(after)))
		*metric = aggregate_first_metric(after);
	return err ? err : aggregate_settle(after, true, metric);
}

static struct err *compare_sides(const struct wanted *wanted, const struct options *options,
				 const struct diff_source sides[DIFF_SIDES], double scale)
{
	cleanup(diff_destroy_at) struct diff *diff = NULL;
	cleanup(diff_rows_deinit) struct diff_rows rows = {0};
	struct diff_side compared[DIFF_SIDES];
	struct diff_view view = {.by = wanted->by, .metric = wanted->metric, .rows = &rows};
	struct output output;
	struct err *err;

	for (int i = 0; i < DIFF_SIDES; i++) {
		const struct narrowed *side = &sides[i].narrowed;

		compared[i] = (struct diff_side){side->recording, side->symbolized,
						 i == DIFF_BEFORE ? scale : 1};
		view.sides[i] = (struct diff_side_view){
			.typed = options->operands[i],
			.moment = sides[i].operand.moment != NULL,
			.scale = compared[i].scale,
			.processes =
				side->merged.merge ? merge_processes(side->merged.merge) : NULL,
			.suppressed = wanted->sides.suppressions ? &side->suppressed : NULL,
		};
	}
	view.top = wanted->top > UINT32_MAX ? 0 : (uint32_t)wanted->top;
	err = settle_metric(sides, options->values[SORT], &view.metric);
	if (!err)
		err = diff_create(compared, &diff);
	if (!err)
		err = diff_rows_create(diff, wanted->by, view.metric, &rows);
	if (!err)
		err = output_open_page(&output);
	if (err)
		return err;
	view.diff = diff;
	return output_close(&output, write_view(&output.buf, wanted, options, &view));
}

/* Reads all options but the filter. */
static bool read_wanted(const struct command *command, const struct options *options,
			struct wanted *wanted)
{
	bool text = !options->values[JSON] && !options->values[CSV];
	int by = 0, per = -1;

	wanted->top = text ? TOP_ROWS : 0;
	if (!options_operands(command, options, 2, 2, "two recordings") ||
	    !metric_option(command, options, SORT, &wanted->metric) ||
	    !options_choice(command, options, BY, &by) || !csv_option(command, options, CSV) ||
	    !options_choice(command, options, PER, &per) ||
	    !options_number(command, options, TOP, 0, wanted->top, &wanted->top) ||
	    !style_options(command, options, WIDTH, BYTES, FULL, &wanted->style) ||
	    !options_exclusive(command, options, exclusive, ARRAY_COUNT(exclusive)) ||
	    !filter_options_exclude(command, options, MERGE))
		return false;
	wanted->by = (enum diff_by)by;
	wanted->sides.merge = options->values[MERGE] != NULL;
	wanted->per = (enum per)(per + 1);
	return true;
}

static int run_sides(const struct command *command, const struct options *options,
		     struct wanted *wanted, struct diff_source sides[DIFF_SIDES])
{
	bool opened = true;
	double scale;

	for (int i = 0; i < DIFF_SIDES; i++)
		if (diff_source_read(command, options, options->operands[i], wanted->sides.merge,
				     &sides[i]) != CLI_OK)
			return CLI_USAGE;
	for (int i = 0; i < DIFF_SIDES; i++)
		opened &= diff_source_open(&sides[i], &wanted->sides);
	if (!opened || !find_scale(wanted, sides, &scale))
		return CLI_FAILED;
	if (cli_report_err(compare_sides(wanted, options, sides, scale)) != CLI_OK)
		return CLI_FAILED;
	return sides[DIFF_BEFORE].narrowed.merged.failed || sides[DIFF_AFTER].narrowed.merged.failed
		       ? CLI_FAILED
		       : CLI_OK;
}

static int run_diff(const struct command *command, const struct options *given)
{
	struct options all = *given;
	const struct options *options = &all;
	cleanup(suppressions_destroy_at) struct suppressions *suppressions = NULL;
	struct wanted wanted = {0};
	struct diff_source sides[DIFF_SIDES] = {0};
	int status;

	if ((!options->values[MERGE] && !newest_pair(command, &all)) ||
	    !read_wanted(command, options, &wanted))
		return CLI_USAGE;
	if (options->values[SUPPRESSIONS] &&
	    cli_report_err(suppressions_file_read(options->values[SUPPRESSIONS], &suppressions)))
		return CLI_FAILED;
	wanted.sides.suppressions = suppressions;
	if (!naming_options_open(options, PLUMBING, &wanted.sides.naming))
		return CLI_FAILED;
	status = run_sides(command, options, &wanted, sides);
	for (int i = 0; i < DIFF_SIDES; i++)
		diff_source_deinit(&sides[i]);
	naming_options_close(&wanted.sides.naming);
	return status;
}

const struct command_body command_diff = {
	.options = options_of_diff,
	.option_count = ARRAY_COUNT(options_of_diff),
	.filters = true,
	.coloured = true,
	.names = true,
	.paged = true,
	.run = run_diff,
	.details =
		"BEFORE and AFTER are recordings, or moments of one: FILE@10s, FILE@50%, "
		"FILE@peak, "
		"FILE@end, FILE@MARK compare what was live then. Rows have what changed, the "
		"largest change first, whether it grew or fell; a recording and itself have none."
		" Of one recording alone, its middle and its end are compared; without any, your "
		"newest in the working directory and the one before of the same program.\n\n"
		"Functions of two builds are the same if function, module and source file have the "
		"same names; in modules that are the same build in both, each place in the code is "
		"one of its own.",
};
