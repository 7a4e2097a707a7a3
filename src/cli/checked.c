#include "cli/checked.h"

#include "cli/cli.h"
#include "hosted/cleanup.h"

void checked_close(struct checked *checked)
{
	suppressed_deinit(&checked->suppressed);
	filter_view_deinit(&checked->view);
	merged_close(&checked->merged);
	loaded_close(&checked->loaded);
	*checked = (struct checked){0};
}

/* Leaves out what is not wanted of checked->recording. */
static struct err *narrow(const struct checked_wanted *wanted, struct checked *checked)
{
	struct err *err = NULL;

	checked->facts = recording_facts(checked->recording);
	if (wanted->filter) {
		err = filter_view_create(wanted->filter, checked->recording, checked->symbolized,
					 &checked->view);
		if (err)
			return err;
		checked->recording = checked->view.recording;
	}
	if (!wanted->suppressions)
		return NULL;
	err = suppressed_create(wanted->suppressions, checked->recording, checked->symbolized,
				&checked->suppressed);
	if (err)
		return err;
	suppressed_keep_facts(&checked->suppressed, checked->recording);
	checked->recording = checked->suppressed.recording;
	return NULL;
}

static bool open_narrowed(const char *path, const struct checked_wanted *wanted,
			  struct checked *checked)
{
	struct err *err = narrow(wanted, checked);

	if (!err)
		return true;
	cli_report_err(err_prefix(err, "%s", path));
	checked_close(checked);
	return false;
}

bool checked_open(const char *path, const struct checked_wanted *wanted, struct checked *ret)
{
	unsigned int needs = RECORDING_CHECKED | (wanted->filter ? RECORDING_BLOCKS : 0u) |
			     (wanted->growth ? RECORDING_RUN_FACTS : 0u);

	*ret = (struct checked){0};
	if (!loaded_open_needs(path, needs, &wanted->naming, &ret->loaded))
		return false;
	ret->recording = ret->loaded.recording;
	ret->symbolized = ret->loaded.symbolized;
	return open_narrowed(path, wanted, ret);
}

bool checked_open_merged(const struct recording_paths *paths, const struct checked_wanted *wanted,
			 struct checked *ret)
{
	*ret = (struct checked){0};
	merged_open(paths, &wanted->naming, &ret->merged);
	if (!ret->merged.merge)
		return false;
	ret->recording = merge_recording(ret->merged.merge);
	ret->symbolized = merge_symbolized(ret->merged.merge);
	return open_narrowed(paths->items.items[0], wanted, ret);
}
