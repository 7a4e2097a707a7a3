#include "cli/recordings/narrowed.h"

#include "cli/cli.h"
#include "hosted/cleanup.h"

void narrowed_close(struct narrowed *narrowed)
{
	suppressed_deinit(&narrowed->suppressed);
	filter_view_deinit(&narrowed->view);
	merged_close(&narrowed->merged);
	loaded_close(&narrowed->loaded);
	*narrowed = (struct narrowed){0};
}

/* Leaves out what is not wanted of narrowed->recording. */
static struct err *narrow(const struct narrowed_wanted *wanted, struct narrowed *narrowed)
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
	struct err *err = narrow(wanted, narrowed);

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
