#include "cli/recordings/narrowed.h"

#include <string.h>

#include "analysis/filter/moment.h"
#include "cli/cli.h"

void narrowed_close(struct narrowed *narrowed)
{
	suppressed_deinit(&narrowed->suppressed);
	filter_view_deinit(&narrowed->view);
	merged_close(&narrowed->merged);
	loaded_close(&narrowed->loaded);
	*narrowed = (struct narrowed){0};
}

/* Leaves out what is not wanted of narrowed->recording. */
static struct err *narrow_recording(const struct narrowed_wanted *wanted, struct narrowed *narrowed)
{
	struct err *err = NULL;

	narrowed->facts = recording_facts(narrowed->recording);
	if (wanted->filter) {
		err = filter_view_create(wanted->filter, narrowed->recording, narrowed->symbolized,
					 &narrowed->view);
		if (err)
			return err;
		narrowed->recording = narrowed->view.recording;
	}
	if (!wanted->suppressions)
		return NULL;
	err = suppressed_create(wanted->suppressions, narrowed->recording, narrowed->symbolized,
				&narrowed->suppressed);
	if (err)
		return err;
	suppressed_keep_facts(&narrowed->suppressed, narrowed->recording);
	narrowed->recording = narrowed->suppressed.recording;
	return NULL;
}

static bool open_narrowed(const char *path, const struct narrowed_wanted *wanted,
			  struct narrowed *narrowed)
{
	struct err *err = narrow_recording(wanted, narrowed);

	if (!err)
		return true;
	cli_report_err(err_prefix(err, "%s", path));
	narrowed_close(narrowed);
	return false;
}

bool narrowed_open(const char *path, const struct narrowed_wanted *wanted, struct narrowed *ret)
{
	unsigned int needs = wanted->needs | (wanted->filter ? RECORDING_BLOCKS : 0u);

	*ret = (struct narrowed){0};
	if (!loaded_open_needs(path, needs, &wanted->naming, &ret->loaded))
		return false;
	ret->recording = ret->loaded.recording;
	ret->symbolized = ret->loaded.symbolized;
	return open_narrowed(path, wanted, ret);
}

bool narrowed_open_merged(const struct recording_paths *paths, const struct narrowed_wanted *wanted,
			  struct narrowed *ret)
{
	*ret = (struct narrowed){0};
	merged_open(paths, &wanted->naming, &ret->merged);
	if (!ret->merged.merge)
		return false;
	ret->recording = merge_recording(ret->merged.merge);
	ret->symbolized = merge_symbolized(ret->merged.merge);
	return open_narrowed(paths->items.items[0], wanted, ret);
}

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
