#include "cli/diff_source.h"

#include <string.h>

#include "analysis/filter/moment.h"
#include "cli/cli.h"

void diff_source_deinit(struct diff_source *source)
{
	filter_view_deinit(&source->view);
	loaded_close(&source->loaded);
	filter_destroy(source->filter);
	diff_operand_deinit(&source->operand);
}

const struct recording *diff_source_recording(const struct diff_source *source)
{
	return source->view.recording ? source->view.recording : source->loaded.recording;
}

/* Whether the filter has the condition alive_at. filter: may be NULL. */
static bool has_moment(const struct filter *filter)
{
	size_t count;
	const struct filter_parameter *parameters = filter_parameters(&count);

	for (size_t i = 0; filter && i < count; i++)
		if (strcmp(parameters[i].name, "alive_at") == 0)
			return filter_value(filter, i) != NULL;
	return false;
}

int diff_source_read(const struct command *command, const struct options *options,
		     const char *typed, struct diff_source *ret)
{
	struct err *err = NULL;

	if (!diff_operand_parse(typed, &ret->operand) ||
	    !filter_options_read(command, options, &ret->filter))
		return CLI_USAGE;
	if (!ret->operand.moment)
		return CLI_OK;
	if (has_moment(ret->filter))
		return cli_error(CLI_USAGE, "%s and --alive-at exclude each other", typed);
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
	return moment_resolve(&moment, source->loaded.recording, false, &unused);
}

bool diff_source_open(struct diff_source *source, const struct naming *naming)
{
	struct err *err;

	if (!source->filter)
		return loaded_open(source->operand.path, naming, &source->loaded);
	if (!loaded_open_filterable(source->operand.path, naming, &source->loaded))
		return false;
	err = check_moment(source);
	if (!err)
		err = filter_view_create(source->filter, source->loaded.recording,
					 source->loaded.symbolized, &source->view);
	if (!err)
		return true;
	cli_report_err(err_prefix(err, "%s", source->operand.path));
	return false;
}
