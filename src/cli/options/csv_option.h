/* The option --csv[=raw] of report and diff. */
#ifndef MALLOW_CLI_OPTIONS_CSV_OPTION_H
#define MALLOW_CLI_OPTIONS_CSV_OPTION_H

#include <string.h>

#include "cli/cli.h"
#include "cli/options/options.h"

#define CSV_OPTION                                                                                 \
	{                                                                                          \
		.name = "csv", .value = "raw", .flag = true,                                       \
		.text = "as CSV with a header row, all rows unless --top says otherwise; texts "   \
			"that a "                                                                  \
			"spreadsheet would run get an apostrophe in front, with =raw they stay "   \
			"as they "                                                                 \
			"are"                                                                      \
	}

static inline bool csv_option_raw(const struct options *options, size_t id)
{
	return options->values[id] && strcmp(options->values[id], "raw") == 0;
}

/* false: the value is neither none nor raw, and an error was printed. */
static inline bool csv_option(const struct command *command, const struct options *options,
			      size_t id)
{
	const char *value = options->values[id];

	if (!value || strcmp(value, "1") == 0 || strcmp(value, "raw") == 0)
		return true;
	cli_error(CLI_USAGE, "'%s' is no value of --csv of '%s': raw, or none", value,
		  command->name);
	return false;
}

#endif
