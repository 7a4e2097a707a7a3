/* mallow core: the live blocks in a core dump, with the size of each and the stacks. */
#include <string.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/recordings/core_files.h"
#include "cli/options/shared_options.h"
#include "cli/options/filter_options.h"
#include "cli/recordings/loaded.h"
#include "cli/options/options.h"
#include "cli/output/output.h"
#include "hosted/cleanup.h"
#include "report/json/core_json.h"
#include "report/text/core_text.h"

enum {
	SORT,
	TOP,
	SIZES,
	JSON,
	OUTPUT,
	RAW,
	ADDR2LINE,
	BYTES,
	WIDTH,
	FULL,
	PLUMBING,
	DEBUG_SYMBOLS
};

static const struct option_spec options_of_core[] = {
	[SORT] = {.name = "sort",
		  .value = "KEY",
		  .text = "which sites come first: those with most bytes, or most blocks; bytes if "
			  "not given",
		  .choices = "bytes count"},
	[TOP] = {.name = "top", .value = "N", .text = "sites shown, 0 for all", .standard = "0"},
	[SIZES] = {.name = "sizes", .text = "print the sizes of all blocks of a site, not 32"},
	[JSON] = {.name = "json", .text = "as JSON, with all sizes"},
	[OUTPUT] = {.name = "output",
		    .letter = 'o',
		    .value = "FILE",
		    .text = "file to write instead of standard output"},
	[RAW] = {.name = "raw",
		 .text = "the files are memory without headers, all of one process: from a debug "
			 "probe, or pieces of /proc/PID/mem"},
	[ADDR2LINE] = {.name = "addr2line",
		       .value = "CMD",
		       .text = "a program that names PROGRAM's code as addr2line does, for a "
			       "format that mallow does not read"},
	[BYTES] = {.name = "bytes", .text = "sums to the last digit"},
	[WIDTH] = WIDTH_OPTION,
	[FULL] = {.name = "full", .text = "cut, fold and leave out nothing"},
	[PLUMBING] = PLUMBING_OPTION,
	[DEBUG_SYMBOLS] = DEBUG_SYMBOLS_OPTION,
};

static const int exclusive[][2] = {
	{JSON, SIZES}, {JSON, BYTES}, {JSON, WIDTH}, {JSON, FULL}, {WIDTH, FULL}};

/* What is wanted, and what it is made of. */
struct report {
	const struct options *options;
	struct core_view_options view;
	struct style style;
	struct core_files files;
	struct filter *filter; /* NULL: all blocks */
	struct naming naming;
};

static struct err *write_view(const struct report *report, const struct core_view *view)
{
	struct output output;
	struct err *err = output_open(report->options->values[OUTPUT], &output);
	struct json_writer json;

	if (err)
		return err;
	if (report->options->values[JSON]) {
		json_init(&json, &output.buf, true);
		err = core_json_write(&json, view);
		buf_char(&output.buf, '\n');
	} else {
		err = core_text_write(&output.buf, &report->style, view);
	}
	return output_close(&output, err);
}

static struct err *write_report(const struct report *report, const struct recording *recording,
				struct symbolized *symbolized)
{
	cleanup(core_view_deinit) struct core_view view = {0};
	cleanup(filter_view_deinit) struct filter_view filtered = {0};
	struct core_view_of of = {recording, recording, NULL, symbolized};
	struct err *err = NULL;

	if (report->filter)
		err = filter_view_create(report->filter, recording, symbolized, &filtered);
	if (filtered.recording) {
		of.recording = filtered.recording;
		of.match = &filtered.match;
	}
	if (!err)
		err = core_view_create(&of, &report->view, &view);
	return err ? err : write_view(report, &view);
}

/* A recording has freed blocks, too. */
static struct err *leave_out_freed(struct report *report, const struct recording *recording)
{
	struct err *err = NULL;

	if (recording_facts(recording)->live)
		return NULL;
	if (!report->filter)
		err = filter_create(&report->filter);
	return err ? err : filter_set(report->filter, "lifetime", "only_leaked");
}

static int make_report(struct report *report)
{
	cleanup(loaded_close) struct loaded loaded = {0};
	struct err *err;

	if (!core_files_open(&report->files, &report->naming, &loaded))
		return CLI_FAILED;
	err = leave_out_freed(report, loaded.recording);
	if (!err)
		err = write_report(report, loaded.recording, loaded.symbolized);
	return cli_report_err(err_prefix(err, "%s", report->files.paths[0]));
}

/* Reads all options but those about names. */
static bool read_wanted(const struct command *command, const struct options *options,
			struct report *report)
{
	uint64_t top = 0;
	int sort = 0;

	if (!options_exclusive(command, options, exclusive, ARRAY_COUNT(exclusive)) ||
	    !options_choice(command, options, SORT, &sort) ||
	    !options_number(command, options, TOP, 0, 0, &top) ||
	    !style_options(command, options, WIDTH, BYTES, FULL, &report->style) ||
	    !filter_options_read(command, options, &report->filter) ||
	    !output_spares(options, OUTPUT))
		return false;
	report->view.by_count = sort == 1;
	report->view.top = top > UINT32_MAX ? 0 : (uint32_t)top;
	report->view.all_sizes = options->values[SIZES] != NULL;
	return true;
}

static int run_core(const struct command *command, const struct options *options)
{
	cleanup(addr2line_end_at) struct addr2line *addr2line = NULL;
	const struct core_files_wanted wanted = {
		.raw = options->values[RAW] != NULL,
		.foreign = options->values[ADDR2LINE] != NULL,
	};
	struct report report = {.options = options};
	int status = CLI_OK;

	if (!options_operands(command, options, 1, INT32_MAX, "a core dump") ||
	    !read_wanted(command, options, &report))
		status = CLI_USAGE;
	else if (!naming_options_open(options, PLUMBING, &report.naming))
		status = CLI_FAILED;
	if (status == CLI_OK)
		status = core_files_find(options, &wanted, &report.files);
	if (status == CLI_OK && wanted.foreign) {
		status = cli_report_err(addr2line_start(options->values[ADDR2LINE],
							report.files.program, &addr2line));
		report.naming.addr2line = addr2line;
	}
	if (status == CLI_OK) {
		report.view.path = report.files.paths[0];
		status = make_report(&report);
	}
	core_files_deinit(&report.files);
	filter_destroy(report.filter);
	naming_options_close(&report.naming);
	return status;
}

const struct command_body command_core = {
	.options = options_of_core,
	.option_count = ARRAY_COUNT(options_of_core),
	.filters = true,
	.coloured = true,
	.names = true,
	.run = run_core,
	.details =
		"What a program had allocated and not freed when its core was dumped: by a crash, "
		"by gcore, or by a probe. The program must have run under 'mallow live', or with "
		"MALLOW_MODE=live: then its memory has the table of all blocks, and nothing had to "
		"be written. report, export, diff and serve open a core dump, too.\n\n"
		"Of each site: its part of all live bytes, its bytes, the sizes of its blocks by "
		"address, and the stack, innermost function first.\n\n"
		"A number in place of CORE is a process whose core dump systemd-coredump has "
		"stored. Dumps compressed by zstd, lz4 or gzip are read as they are. PROGRAM is "
		"the file to take names from, if it is not where it ran.",
};
