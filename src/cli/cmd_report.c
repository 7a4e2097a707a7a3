/* mallow report: text or JSON on standard output. */
#include <unistd.h>

#include "cli/cli.h"
#include "cli/loaded.h"
#include "cli/metric_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "hosted/cleanup.h"
#include "report/json_report.h"
#include "report/text_report.h"

#define TOP_SITES    10
#define TOP_BRANCHES 12

enum { JSON, TOP, SORT, TREE, BYTES, FULL };

static const struct option_spec options_of_report[] = {
	[JSON] = {.name = "json", .text = "as JSON, all sites unless --top says otherwise"},
	[TOP] = {.name = "top", .value = "N", .text = "sites shown, 0 for all", .standard = "10"},
	[SORT] = {.name = "sort",
		  .value = "METRIC",
		  .text = "what sites are ordered by, peak if not given",
		  .choices = metric_names + 1},
	[TREE] = {.name = "tree", .text = "the call tree, outermost function first"},
	[BYTES] = {.name = "bytes", .text = "sizes and counts to the last digit"},
	[FULL] = {.name = "full", .text = "cut, fold and leave out nothing"},
};

static struct err *write_text(const struct loaded *loaded, const struct options *options,
			      enum metric metric, uint32_t top, struct buf *buf)
{
	struct style style = terminal_style(STDOUT_FILENO);
	struct text_report_options wanted = {
		.metric = metric,
		.top = top,
		.tree = options->values[TREE] != NULL,
	};

	style.exact = options->values[BYTES] != NULL;
	style.full = options->values[FULL] != NULL;
	return text_report_write(buf, &style, loaded->recording, loaded->symbolized, &wanted);
}

static int run(const struct command *command, const struct options *options)
{
	bool json = options->values[JSON] != NULL;
	cleanup(loaded_close) struct loaded loaded = {0};
	struct output output;
	enum metric metric;
	uint64_t top;
	struct err *err;

	if (!options_operands(command, options, 1, 1, "one recording") ||
	    !metric_option(command, options, SORT, &metric) ||
	    !options_number(command, options, TOP, 0,
			    json                    ? 0
			    : options->values[TREE] ? TOP_BRANCHES
						    : TOP_SITES,
			    &top))
		return CLI_USAGE;
	if (json && options->values[TREE])
		return cli_error(CLI_USAGE, "--json and --tree exclude each other");
	if (top > UINT32_MAX)
		top = 0;
	if (!loaded_open(options->operands[0], true, &loaded))
		return CLI_FAILED;
	err = output_open(NULL, &output);
	if (err)
		return cli_report_err(err);
	if (json)
		err = json_report_write(&output.buf, loaded.recording, loaded.symbolized, metric,
					(uint32_t)top);
	else
		err = write_text(&loaded, options, metric, (uint32_t)top, &output.buf);
	return cli_report_err(output_close(&output, err));
}

const struct command_body command_report = {
	.options = options_of_report,
	.option_count = sizeof(options_of_report) / sizeof(options_of_report[0]),
	.run = run,
	.details = "A site is all allocations with one call stack. peak: its bytes that were live "
		   "when "
		   "the whole program had most memory live. leaked: never freed in the recording. "
		   "total: all it ever allocated. temporary: calls whose block was freed with no "
		   "other "
		   "allocation by the same thread in between.",
};
