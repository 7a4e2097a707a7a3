#include "cli/options/debug_symbols_option.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "hosted/cleanup.h"

bool debug_symbols_check(const struct options *options)
{
	for (size_t i = 0; i < options->many_count; i++) {
		if (access(options->many[i], R_OK) == 0)
			continue;
		cli_error(CLI_FAILED, "cannot read '%s': %s", options->many[i], strerror(errno));
		return false;
	}
	return true;
}

bool debug_symbols_open(const struct options *options, struct symbolizer **ret)
{
	cleanup(symbolizer_destroy_at) struct symbolizer *symbolizer = NULL;
	struct err *err;

	if (!debug_symbols_check(options))
		return false;
	err = symbolizer_create(&symbolizer);
	if (!err)
		err = symbolizer_add_debug_paths(symbolizer, options->many);
	if (err) {
		cli_report_err(err);
		return false;
	}
	*ret = steal(&symbolizer);
	return true;
}
