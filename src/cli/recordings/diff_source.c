#include "cli/recordings/diff_source.h"

#include <string.h>

#include "analysis/filter/moment.h"
#include "cli/cli.h"

void diff_source_deinit(struct diff_source *source)
{
	narrowed_close(&source->narrowed);
	recording_paths_deinit(&source->paths);
	filter_destroy(source->filter);
	moment_operand_deinit(&source->operand);
}

int diff_source_read(const struct command *command, const struct options *options,
		     const char *typed, bool merge, struct diff_source *ret)
{
	struct err *err = NULL;

	if (!moment_operand_parse(typed, &ret->operand) ||
	    !filter_options_read(command, options, &ret->filter))
		return CLI_USAGE;
	if (!ret->operand.moment)
		return CLI_OK;
	if (merge)
		return cli_error(CLI_USAGE, "--merge and the moment of '%s' exclude each other",
				 typed);
	if (filter_alive_at(ret->filter))
		return cli_error(CLI_USAGE, "%s and --at exclude each other", typed);
	if (!ret->filter)
		err = filter_create(&ret->filter);
	if (!err)
		err = filter_set(ret->filter, "alive_at", ret->operand.moment);
	if (!err)
		return CLI_OK;
	cli_report_err(err);
	return CLI_USAGE;
}

/* An error: the recording has no such moment. */
static struct err *check_moment(const struct diff_source *source)
{
	struct moment moment;
	int64_t unused;

	if (!source->operand.moment || !moment_parse(source->operand.moment, &moment))
		return NULL;
	return moment_resolve(&moment, source->narrowed.loaded.recording, false, &unused);
}

static bool open_merged(struct diff_source *source, const struct narrowed_wanted *wanted)
{
	struct err *err = recording_paths_add(source->operand.path, &source->paths);

	if (!err)
		return narrowed_open_merged(&source->paths, wanted, &source->narrowed);
	cli_report_err(err);
	return false;
}

bool diff_source_open(struct diff_source *source, const struct diff_source_wanted *wanted)
{
	const struct narrowed_wanted narrowed = {
		.filter = source->filter,
		.suppressions = wanted->suppressions,
		.naming = wanted->naming,
	};
	struct err *err;

	if (wanted->merge)
		return open_merged(source, &narrowed);
	if (!narrowed_open(source->operand.path, &narrowed, &source->narrowed))
		return false;
	err = check_moment(source);
	if (!err)
		return true;
	cli_report_err(err_prefix(err, "%s", source->operand.path));
	return false;
}
