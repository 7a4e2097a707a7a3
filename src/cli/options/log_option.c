#include "cli/options/log_option.h"

#include <stddef.h>
#include <stdint.h>

#include "cli/cli.h"
#include "settings/settings.h"
#include "symbols/symbol_log.h"

static void print_line(const char *line)
{
	cli_error(CLI_OK, "%s", line);
}

bool log_option_choose(const char *level)
{
	uint64_t value;

	if (!level || !setting_parse(SETTING_LOG, level, &value))
		return false;
	symbol_log_to(value == SETTING_LOG_DEBUG || value == SETTING_LOG_TRACE ? print_line : NULL);
	return true;
}
