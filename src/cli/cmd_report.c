/* mallow report: text or JSON on standard output. */
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/filter_options.h"
#include "cli/loaded.h"
#include "cli/merged.h"
#include "cli/metric_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/recording_paths.h"
#include "cli/terminal.h"
#include "hosted/cleanup.h"
#include "report/errors_json.h"
#include "report/json_report.h"
#include "report/pools_json.h"
#include "report/text_report.h"

#define TOP_SITES    10
#define TOP_BRANCHES 12
#define POOL_SITES   3

enum { JSON, TOP, SORT, TREE, ERRORS, POOLS, MERGE, BYTES, FULL };

static const struct option_spec options_of_report[] = {
	[JSON] = {.name = "json",
		  .text = "as JSON, all sites unless --top says otherwise; an array of several "
			  "recordings"},
	[TOP] = {.name = "top", .value = "N", .text = "sites shown, 0 for all", .standard = "10"},
	[SORT] = {.name = "sort",
		  .value = "METRIC",
		  .text = "what sites are ordered by, peak if not given",
		  .choices = metric_names + 1},
	[TREE] = {.name = "tree", .text = "the call tree, outermost function first"},
	[ERRORS] =
		{.name = "errors",
		 .text = "wrong frees instead of sites: of what was never allocated, done twice, "
			 "or by a function that does not belong to the allocation"},
	[POOLS] = {.name = "pools",
		   .text = "what the program's own pools hold (mallow_pool_alloc()), with the "
			   "sites of "
			   "each, instead of all sites"},
	[MERGE] = {.name = "merge", .text = "all recordings as one: sites by file and place in it"},
	[BYTES] = {.name = "bytes", .text = "sizes and counts to the last digit"},
	[FULL] = {.name = "full", .text = "cut, fold and leave out nothing"},
};

static const int exclusive[][2] = {{JSON, TREE},    {ERRORS, TREE}, {ERRORS, SORT},
				   {ERRORS, MERGE}, {POOLS, TREE},  {POOLS, ERRORS}};

/* What is to be written, and where to. */
struct report {
	const struct options *options;
	enum metric metric;
	uint32_t top;
	bool json, errors, pools;
	struct filter *filter; /* NULL: none */
	struct output output;
	struct json_writer writer;
	bool titled; /* each recording has its file's name above it */
	bool behind; /* something was written */
};

static struct err *write_text(struct report *report, const struct recording *recording,
			      struct symbolized *symbolized, const struct process_list *processes,
			      const struct filter_report *filter)
{
	struct style style = terminal_style(STDOUT_FILENO);
	struct text_report_options wanted = {
		.metric = report->metric,
		.top = report->top,
		.tree = report->options->values[TREE] != NULL,
		.errors = report->errors,
		.pools = report->pools,
		.pool_sites = report->options->values[TOP] ? report->top : POOL_SITES,
		.processes = processes,
		.filter = filter,
	};
	const char *path = recording_facts(recording)->path;

	style.exact = report->options->values[BYTES] != NULL;
	style.full = report->options->values[FULL] != NULL;
	if (report->titled) {
		buf_text(&report->output.buf, report->behind ? "\n\n" : "");
		style_begin(&report->output.buf, &style, STYLE_DIM);
		buf_text(&report->output.buf, "== ");
		style_safe_text(&report->output.buf, path, strlen(path));
		buf_text(&report->output.buf, " ==");
		style_end(&report->output.buf, &style);
		buf_char(&report->output.buf, '\n');
	}
	report->behind = true;
	return text_report_write(&report->output.buf, &style, recording, symbolized, &wanted);
}

/* processes: of merged recordings, filter: of a filtered one, else NULL. */
static struct err *write_report(struct report *report, const struct recording *recording,
				struct symbolized *symbolized, const struct process_list *processes,
				const struct filter_report *filter)
{
	if (!report->json)
		return write_text(report, recording, symbolized, processes, filter);
	if (report->errors)
		return errors_json_write(&report->writer, recording, symbolized, report->top);
	if (report->pools)
		return pools_json_write(&report->writer, recording, symbolized, report->metric,
					report->top);
	return json_report_write(&report->writer, recording, symbolized, processes, filter,
				 report->metric, report->top);
}

/* *failed: as where one cannot be opened, it has no such mark, or the pattern is too costly. */
static struct err *write_filtered(struct report *report, const struct loaded *loaded, bool *failed)
{
	cleanup(filter_view_deinit) struct filter_view view = {0};
	struct err *err =
		filter_view_create(report->filter, loaded->recording, loaded->symbolized, &view);

	if (!err)
		return write_report(report, view.recording, loaded->symbolized, NULL, &view.report);
	*failed = true;
	cli_report_err(err_prefix(err, "%s", recording_facts(loaded->recording)->path));
	return NULL;
}

static bool open_recording(const struct report *report, const char *path, struct loaded *ret)
{
	if (report->errors)
		return loaded_open_errors(path, ret);
	return report->filter ? loaded_open_filterable(path, ret) : loaded_open(path, true, ret);
}

/* One after the other. *failed: one could not be opened, and an error was printed. */
static struct err *write_each(struct report *report, const struct recording_paths *paths,
			      bool *failed)
{
	bool array = report->json && report->titled;
	struct err *err = NULL;

	if (array)
		json_array(&report->writer);
	for (size_t i = 0; !err && i < paths->items.count; i++) {
		cleanup(loaded_close) struct loaded loaded = {0};
		const char *path = paths->items.items[i];

		if (!open_recording(report, path, &loaded))
			*failed = true;
		else if (report->filter)
			err = write_filtered(report, &loaded, failed);
		else
			err = write_report(report, loaded.recording, loaded.symbolized, NULL, NULL);
	}
	if (array && !err)
		json_end(&report->writer);
	return err;
}

static struct err *write_merged(struct report *report, const struct recording_paths *paths,
				bool *failed)
{
	cleanup(merged_close) struct merged merged = {0};

	merged_open(paths, &merged);
	*failed = merged.failed;
	if (!merged.merge)
		return NULL;
	return write_report(report, merge_recording(merged.merge), merge_symbolized(merged.merge),
			    merge_processes(merged.merge), NULL);
}

static int write_all(struct report *report, const struct recording_paths *paths)
{
	bool failed = paths->failed;
	struct err *err = output_open(NULL, &report->output);

	if (err)
		return cli_report_err(err);
	report->titled = paths->items.count > 1 || paths->directories;
	json_init(&report->writer, &report->output.buf, true);
	if (report->options->values[MERGE]) {
		report->titled = false;
		err = write_merged(report, paths, &failed);
	} else {
		err = write_each(report, paths, &failed);
	}
	err = output_close(&report->output, err);
	if (err)
		return cli_report_err(err);
	return failed ? CLI_FAILED : CLI_OK;
}

CLEANUP_DEFINE(struct filter *, filter_destroy);

static int run(const struct command *command, const struct options *options)
{
	cleanup(recording_paths_deinit) struct recording_paths paths = {0};
	cleanup(filter_destroy_at) struct filter *filter = NULL;
	struct report report = {
		.options = options,
		.json = options->values[JSON] != NULL,
		.errors = options->values[ERRORS] != NULL,
		.pools = options->values[POOLS] != NULL,
	};
	uint64_t top = TOP_SITES;
	struct err *err;

	if (report.json || report.errors)
		top = 0;
	else if (options->values[TREE])
		top = TOP_BRANCHES;
	if (!options_operands(command, options, 1, INT32_MAX, "a recording") ||
	    !metric_option(command, options, SORT, &report.metric) ||
	    !options_number(command, options, TOP, 0, top, &top) ||
	    !options_exclusive(command, options, exclusive, ARRAY_COUNT(exclusive)) ||
	    !filter_options_read(command, options, &filter) ||
	    !filter_options_exclude(command, options, ERRORS) ||
	    !filter_options_exclude(command, options, POOLS) ||
	    !filter_options_exclude(command, options, MERGE))
		return CLI_USAGE;
	report.filter = filter;
	report.top = top > UINT32_MAX ? 0 : (uint32_t)top;
	err = recording_paths_find(options, &paths);
	return err ? cli_report_err(err) : write_all(&report, &paths);
}

const struct command_body command_report = {
	.options = options_of_report,
	.option_count = sizeof(options_of_report) / sizeof(options_of_report[0]),
	.filters = true,
	.run = run,
	.details = "A site is all allocations with one call stack. peak: its bytes that were live "
		   "when "
		   "the whole program had most memory live. leaked: never freed in the recording. "
		   "total: all it ever allocated. temporary: calls whose block was freed with no "
		   "other "
		   "allocation by the same thread in between.\n\n"
		   "A directory stands for all recordings in it. Of several, one report comes "
		   "after the "
		   "other; with --merge the peak is that of all processes together, at the moment "
		   "when "
		   "they had most memory live, and a process that has ended has none.\n\n"
		   "Pools are the program's own arenas and slabs, as it told mallow by "
		   "mallow_pool_alloc(): what they hold is in blocks that are counted above. The "
		   "peak of a pool is when it held most, that of its site the share in that; of "
		   "merged recordings these peaks are added up.",
};
