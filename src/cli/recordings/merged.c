#include "cli/recordings/merged.h"

#include "cli/cli.h"
#include "cli/output/terminal.h"
#include "cli/recordings/file_kind.h"
#include "hosted/cleanup.h"
#include "report/check/check_words.h"

static struct err *add_recording(struct merge *merge, const char *path)
{
	cleanup(progress_deinit) struct progress progress = {0};
	struct err *err;

	progress_init(&progress, "loading");
	err = file_kind_check(path);
	return err ? err : merge_add(merge, path, progress_update, &progress);
}

static struct err *run_merge(struct merge *merge)
{
	cleanup(progress_deinit) struct progress progress = {0};

	progress_init(&progress, "merging");
	return merge_run(merge, progress_update, &progress);
}

/* Prints a line for each recording of which a part of the file is not there. */
static void name_damaged(const struct process_list *list)
{
	for (size_t i = 0; i < list->items.count; i++) {
		const struct recording_facts *facts = &list->items.items[i].facts;
		cleanup(buf_deinit) struct buf gap = BUF_EMPTY;

		if (facts->complete || facts->writing || facts->lost ||
		    (!facts->ended && !facts->missing_chunks && !facts->damaged_chunks))
			continue;
		check_gap_put(&gap, facts);
		if (buf_string(&gap))
			cli_error(CLI_OK, "'%s': %s", facts->path, buf_string(&gap));
	}
}

void merged_open(const struct recording_paths *paths, const struct naming *naming,
		 struct merged *ret)
{
	struct merged merged = {.failed = paths->failed};
	struct err *err = merge_create(naming, &merged.merge);

	for (size_t i = 0; !err && i < paths->items.count; i++)
		merged.failed |= cli_report_err(add_recording(merged.merge,
							      paths->items.items[i])) != CLI_OK;
	if (!err && merge_count(merged.merge))
		err = run_merge(merged.merge);
	if (!err)
		name_damaged(merge_processes(merged.merge));
	if (err || !merge_count(merged.merge)) {
		merged_close(&merged);
		merged.failed = true;
		cli_report_err(err);
	}
	*ret = merged;
}

void merged_close(struct merged *merged)
{
	merge_destroy(merged->merge);
	merged->merge = NULL;
}
