/*
 * mallow live-report: one report of what a program has live, made from its table, which is open as
 * a descriptor. The agent starts it, with its settings in the environment.
 */
#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/options/live_options.h"
#include "cli/live/live_report.h"
#include "cli/options/options.h"
#include "cli/options/setting_options.h"

enum { DESCRIPTOR = SETTING_COUNT };

static const struct option_spec options_of_live_report[] = {
#define SETTING_OPTIONS_OF SETTING_COMMANDS_LIVE
#include "cli/options/setting_options.def"
	[DESCRIPTOR] = {.name = "fd", .value = "N", .text = "where the table is open"},
};

static int run_live_report(const struct command *command, const struct options *options)
{
	struct live_options wanted;
	uint64_t fd;

	if (!options_operands(command, options, 0, 0, "no operand") ||
	    !setting_options_check(options) || !live_options_read(options, &wanted) ||
	    !options_number(command, options, DESCRIPTOR, 0, INT32_MAX, &fd))
		return CLI_USAGE;
	return cli_report_err(live_report_write(&wanted, (int)fd));
}

const struct command_body command_live_report = {
	.options = options_of_live_report,
	.option_count = ARRAY_COUNT(options_of_live_report),
	.run = run_live_report,
};
