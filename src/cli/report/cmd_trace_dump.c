/* mallow trace dump: the records of a recording, for grep and for finding faults in mallow. */
#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/recordings/file_kind.h"
#include "cli/options/moment_operand.h"
#include "cli/options/options.h"
#include "cli/output/output.h"
#include "report/export/dump.h"

enum { STACKS, OUTPUT };

static const struct option_spec options_of_dump[] = {
	[STACKS] = {.name = "stacks", .text = "with the frames of each event, innermost first"},
	[OUTPUT] = {.name = "output",
		    .letter = 'o',
		    .value = "FILE",
		    .text = "file to write instead of standard output"},
};

static int run_trace_dump(const struct command *command, const struct options *options)
{
	struct output output;
	struct err *err;

	if (!options_operands(command, options, 1, 1, "one recording") ||
	    !moment_operands_refuse(command, options))
		return CLI_USAGE;
	err = file_kind_check(options->operands[0]);
	if (!err)
		err = output_open(options->values[OUTPUT], &output);
	if (!err)
		err = output_close(&output, dump_write(&output.buf, options->operands[0],
						       options->values[STACKS] != NULL));
	return cli_report_err(err);
}

const struct command_body command_trace_dump = {
	.options = options_of_dump,
	.option_count = ARRAY_COUNT(options_of_dump),
	.run = run_trace_dump,
	.details = "A line is: seconds since the start, the thread's stream, the operation, the "
		   "address, then field=value. Equal stack= values are equal stacks.",
};
