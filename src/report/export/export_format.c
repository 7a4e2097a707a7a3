#include "report/export/export_format.h"

#include <string.h>

#include "analysis/trees/tree.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "report/csv/blocks_csv.h"
#include "report/csv/csv_report.h"
#include "report/export/callgrind.h"
#include "report/export/collapsed.h"
#include "report/export/dhat.h"
#include "report/export/firefox.h"
#include "report/export/flamegraph.h"
#include "report/export/frames.h"
#include "report/export/heaptrack_export.h"
#include "report/export/massif.h"
#include "report/export/pprof.h"
#include "report/export/replay_export.h"
#include "report/export/speedscope.h"

static struct err *write_flamegraph_diff(struct buf *buf, const struct export_subject *subject)
{
	cleanup(diff_tree_deinit) struct diff_tree tree = {0};
	struct err *err = diff_tree_create(subject->diff, subject->metric, subject->fold,
					   subject->show, &tree);

	return err ? err
		   : flamegraph_write_diff(buf, subject->diff, &tree, subject->show,
					   subject->metric, subject->exact, subject->moments);
}

static struct err *write_flamegraph(struct buf *buf, const struct export_subject *subject)
{
	cleanup(tree_destroy_at) struct tree *tree = NULL;
	struct err *err;

	if (subject->diff)
		return write_flamegraph_diff(buf, subject);
	err = tree_create(subject->recording, subject->symbolized, subject->metric, subject->fold,
			  &tree);
	return err ? err
		   : flamegraph_write(buf, subject->recording, tree, subject->metric,
				      subject->exact);
}

static struct err *write_collapsed(struct buf *buf, const struct export_subject *subject)
{
	cleanup(tree_destroy_at) struct tree *tree = NULL;
	struct err *err = tree_create(subject->recording, subject->symbolized, subject->metric,
				      subject->fold, &tree);

	return err ? err : collapsed_write(buf, tree);
}

static struct err *write_heaptrack(struct buf *buf, const struct export_subject *subject)
{
	return heaptrack_export_write(buf, subject->symbolized, subject->match);
}

static struct err *write_pprof(struct buf *buf, const struct export_subject *subject)
{
	const struct diff *diff = subject->diff;
	const struct pprof_options options = {
		.since = diff ? diff->sides[DIFF_BEFORE] : NULL,
		.samples = subject->samples,
		.note = subject->note,
	};

	if (diff)
		return pprof_write(buf, diff->sides[DIFF_AFTER], diff->symbolized, &options);
	return pprof_write(buf, subject->recording, subject->symbolized, &options);
}

static struct err *write_replay(struct buf *buf, const struct export_subject *subject)
{
	return replay_export_write(buf, subject->blocks, subject->match);
}

static struct err *write_frames(struct buf *buf, const struct export_subject *subject)
{
	return frames_write(buf, subject->symbolized);
}

static struct err *write_csv(struct buf *buf, const struct export_subject *subject)
{
	struct report_subject shown = {.recording = subject->recording,
				       .symbolized = subject->symbolized};
	struct csv_writer csv = {.buf = buf};

	if (subject->each_block) {
		if (!recording_blocks(subject->blocks)->count &&
		    recording_summary(subject->blocks)->calls)
			return err_create("it has no single allocations, only sums");
		shown.recording = subject->blocks;
		return blocks_csv_write(buf, &shown, subject->match ? subject->match->words : NULL);
	}
	csv_words(&csv, CSV_REPORT_SITES);
	return csv_report_write(&csv, &shown, NULL, subject->metric, 0);
}

#define write_speedscope speedscope_write
#define write_firefox    firefox_write
#define write_massif     massif_write
#define write_callgrind  callgrind_write
#define write_dhat       dhat_write

/* The room of the page is not below this one: whoever exports it calls html_file_write(). */
#define write_html    NULL
/* It is several files. */
#define write_parquet NULL

static const struct export_format formats[] = {
#define EXPORTER(name_, menu, ending, text, ...)                                                   \
	{.name = #name_, .write = write_##name_, __VA_ARGS__},
#include "report/export/exporters.def"
#undef EXPORTER
};

const struct export_format *export_formats(size_t *count)
{
	*count = ARRAY_COUNT(formats);
	return formats;
}

const struct export_format *export_format_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(formats); i++)
		if (strcmp(name, formats[i].name) == 0)
			return &formats[i];
	return NULL;
}
