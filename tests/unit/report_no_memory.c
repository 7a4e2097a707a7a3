/* Exports with allocation n failing, for every n: an error each time, and no leak. */
#include <errno.h>
#include <string.h>

#include "analysis/recording_memory.h"
#include "analysis/trees/flame.h"
#include "check.h"
#include "failing_malloc.h"
#include "hosted/cleanup.h"
#include "live_writer.h"
#include "report/check/check_report.h"
#include "report/csv/diff_csv.h"
#include "report/export/export_format.h"
#include "report/export/flamegraph.h"
#include "report/export/pprof.h"
#include "report/export/tables.h"
#include "report/json/diff_json.h"
#include "report/json/json_report.h"
#include "report/json/live_json.h"
#include "report/names/distinct_names.h"
#include "report/text/diff_text.h"
#include "report/text/live_text.h"
#include "report/top/top_text.h"
#include "sample_recordings.h"

/* What write_format() writes. */
static const struct export_format *written;
static bool each_block;

/* A file without sums is empty in these formats, and then fail_each() does not end. */
static bool may_be_empty(const struct export_format *format)
{
	return strcmp(format->name, "collapsed") == 0 || strcmp(format->name, "frames") == 0;
}

static struct err *write_format(struct buf *buf, const struct recording *recording,
				struct symbolized *symbolized)
{
	const struct export_subject subject = {
		.recording = recording,
		.blocks = recording,
		.symbolized = symbolized,
		.each_block = each_block,
		.nodes = 2, // so few that something is folded
		.samples = 2,
	};

	return written->write(buf, &subject);
}

/* All tables, in one buffer. */
static struct err *write_tables(struct buf *buf, const struct recording *recording,
				struct symbolized *symbolized)
{
	static const char *const labels[] = {"service=s", "zone=a", NULL};
	cleanup(tables_destroy_at) struct tables *tables = NULL;
	struct buf *bufs[TABLE_COUNT];
	const struct export_subject subject = {
		.recording = recording,
		.blocks = recording,
		.symbolized = symbolized,
		.labels = labels,
	};
	struct err *err;

	for (int i = 0; i < TABLE_COUNT; i++)
		bufs[i] = buf;
	err = tables_create(bufs, &tables);
	if (!err)
		err = tables_add(tables, &subject);
	return err ? err : tables_finish(tables);
}

static struct err *write_change(struct buf *buf, const struct recording *recording,
				struct symbolized *symbolized)
{
	return pprof_write(buf, recording, symbolized,
			   &(struct pprof_options){.since = recording, .samples = 2});
}

/*
 * In both directions, with everything that a graph can be told; its names stand for it. And that of
 * a difference.
 */
static struct err *write_flame(struct buf *buf, const struct recording *recording,
			       struct symbolized *symbolized)
{
	static const struct flame_options all[] = {
		{.metric = FLAME_PEAK,
		 .trunks = true,
		 .most = 100,
		 .shape = {.merge = TREE_BY_LINE, .plumbing = true, .recursion = true}},
		{.metric = FLAME_TEMPORARY, .callers = true, .focus = "main", .most = 3},
		{.metric = FLAME_TOTAL, .callers = true, .root = "0.0", .cut = 3, .most = 100},
	};
	const struct flame_side sides[DIFF_SIDES] = {{.recording = recording},
						     {.recording = recording}};
	struct err *err = NULL;

	for (size_t i = 0; !err && i < sizeof(all) / sizeof(all[0]); i++) {
		struct flame *flame = NULL;

		err = flame_create(&sides[DIFF_AFTER], symbolized, &all[i], &flame);
		for (uint32_t k = 0; !err && k < flame->name_count; k++)
			buf_text(buf, flame->names[k].text);
		flame_destroy(steal(&flame));
		if (!err)
			err = flame_create_change(sides, DIFF_SHOW_LARGER, symbolized, &all[i],
						  &flame);
		for (uint32_t k = 0; !err && k < flame->name_count; k++)
			buf_text(buf, flame->names[k].text);
		flame_destroy(flame);
	}
	return err;
}

/* With the headline and the findings; the facts that they need are kept once they are made. */
static struct err *write_report(struct buf *buf, const struct recording *recording,
				struct symbolized *symbolized)
{
	const struct report_subject subject = {.recording = recording, .symbolized = symbolized};
	struct json_stacks stacks;
	struct json_writer json;
	struct err *err;

	json_init(&json, buf, false);
	json_stacks_init(&stacks, recording, symbolized, false);
	err = json_report_write(&json, &stacks, &subject, METRIC_PEAK, 0);
	json_stacks_deinit(&stacks);
	return err;
}

typedef struct err *write_export(struct buf *buf, const struct recording *recording,
				 struct symbolized *symbolized);

/* All limits broken, in all formats; compared with itself there is a baseline, too. */
static struct err *write_check(struct buf *buf, const struct recording *recording,
			       struct symbolized *symbolized)
{
	static const struct check_limits limits = {
		.has = {true, true, true, true, true, true},
	};
	static const struct check_about about = {"mallow", " --size-min 0", "b.mallow",
						 "/src",   false,           false};
	const struct check_baseline baseline = {recording, symbolized, 0};
	struct style style = {.width = 80};
	struct verdicts verdicts = {0};
	const struct unseen unseen = {TRACE_UNSEEN_LINKED, 0, "/a.so", "jemalloc", "je_malloc"};
	struct check_subject subject = {"a.mallow", "a.mallow", recording_facts(recording),
					&verdicts,  &unseen,    &unseen,
					false,      0};
	struct err *err = verdicts_make(&limits, &baseline, recording, symbolized, NULL, &verdicts);

	for (enum check_format format = CHECK_TEXT; !err && format <= CHECK_GITHUB; format++) {
		struct check_report report;

		check_report_begin(&report, format, buf, &style, &about);
		check_report_add(&report, &subject);
		check_report_end(&report);
	}
	verdicts_deinit(&verdicts);
	return err;
}

static struct err *write_rows(struct buf *buf, const struct diff *diff, enum diff_by by)
{
	struct diff_rows rows = {0};
	struct diff_view view = {
		.diff = diff,
		.by = by,
		.metric = METRIC_TOTAL,
		.rows = &rows,
		.functions = &rows,
		.sites = by == DIFF_BY_SITE ? &rows : NULL,
		.sides = {{.typed = "a.mallow", .scale = 0.5}, {.typed = "b.mallow", .scale = 1}},
	};
	struct distinct_names names = {0};
	struct style style = {.width = 80, .names = &names};
	struct csv_writer csv = {.buf = buf};
	struct json_writer json;
	struct err *err = diff_rows_create(diff, by, METRIC_TOTAL, &rows);

	json_init(&json, buf, false);
	if (!err)
		err = diff_text_write(buf, &style, &view);
	if (!err)
		err = diff_json_write(&json, &view);
	if (!err)
		err = diff_csv_write(&csv, &view);
	distinct_names_deinit(&names);
	diff_rows_deinit(&rows);
	return err;
}

static struct err *write_trees(struct buf *buf, const struct diff *diff)
{
	struct err *err = NULL;

	for (enum diff_show show = DIFF_SHOW_LARGER; !err && show <= DIFF_SHOW_FELL; show++) {
		struct diff_tree tree = {0};

		err = diff_tree_create(diff, METRIC_TOTAL, TREE_WHOLE, show, &tree);
		if (!err)
			err = flamegraph_write_diff(buf, diff, &tree, show, METRIC_TOTAL, true,
						    (const char *const[DIFF_SIDES]){"peak"});
		diff_tree_deinit(&tree);
	}
	return err;
}

/* Of a recording and its half: all views, by all that rows can be. */
static struct err *write_diff(struct buf *buf, const struct recording *recording,
			      struct symbolized *symbolized)
{
	const struct diff_side sides[DIFF_SIDES] = {
		{recording, symbolized, 0.5},
		{recording, symbolized, 1},
	};
	struct diff *diff = NULL;
	struct err *err = diff_create(sides, &diff);

	for (enum diff_by by = DIFF_BY_FUNCTION; !err && by <= DIFF_BY_MODULE; by++)
		err = write_rows(buf, diff, by);
	if (!err)
		err = write_trees(buf, diff);
	diff_destroy(diff);
	return err;
}

/* Names are found anew each time, and so their memory. */
static struct err *export_once(write_export *write, const struct recording *recording,
			       struct buf *buf)
{
	struct symbolized *symbolized;
	struct err *err = symbolized_create(recording, NULL, &symbolized);

	if (err)
		return err;
	err = write(buf, recording, symbolized);
	symbolized_destroy(symbolized);
	return err ? err : buf_finish(buf);
}

/* Lest what nobody set is NULL by chance. */
static __attribute__((noinline)) void fill_stack(void)
{
	volatile unsigned char bytes[16384];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0xa5;
}

static size_t fail_each(write_export *write, const struct recording *recording)
{
	struct err *err = NULL;
	size_t size = 0;
	long n;

	for (n = 0; !size; n++) {
		struct buf buf;

		buf_init(&buf);
		fill_stack();
		failing_malloc_countdown = n;
		err = export_once(write, recording, &buf);
		failing_malloc_countdown = -1;
		if (err)
			assert_int_equal(err_number(err), ENOMEM);
		else
			size = buf.size;
		err_destroy(err);
		buf_deinit(&buf);
	}
	assert_true(n > 5);
	return size;
}

/* How much is written with allocation n failing, 0 with an error. *failed: there was one. */
static size_t size_of(write_export *write, const struct recording *recording, long n, bool *failed)
{
	struct buf buf;
	struct err *err;
	size_t size;

	buf_init(&buf);
	fill_stack();
	failing_malloc_countdown = n;
	err = export_once(write, recording, &buf);
	*failed = n >= 0 && failing_malloc_countdown < 0;
	failing_malloc_countdown = -1;
	if (err)
		assert_int_equal(err_number(err), ENOMEM);
	size = err ? 0 : buf.size;
	err_destroy(err);
	buf_deinit(&buf);
	return size;
}

/* Names may have their long form if there is no memory, but nothing is left out. */
static void fail_all(write_export *write, const struct recording *recording)
{
	bool failed = true;
	size_t whole = size_of(write, recording, -1, &failed);

	failed = true;
	for (long n = 0; failed; n++) {
		size_t size = size_of(write, recording, n, &failed);

		assert_true(!size || size >= whole);
		assert_true(failed || n > 50);
	}
}

static void checks_and_diffs(void **state)
{
	for (unsigned int i = 0; i < sample_recording_count; i++) {
		struct trace_writer writer;
		struct recording *recording;

		sample_recordings[i].write(&writer);
		assert_ok(recording_open_memory("x.mallow", writer.data, writer.size,
						RECORDING_BLOCKS, &recording));
		fail_all(write_check, recording);
		fail_all(write_diff, recording);
		recording_close(recording);
		trace_writer_deinit(&writer);
	}
}

static void exports(void **state)
{
	size_t profiles = 0, changes = 0, count;
	const struct export_format *formats = export_formats(&count);

	for (unsigned int i = 0; i < sample_recording_count; i++) {
		struct trace_writer writer;
		struct recording *recording;

		sample_recordings[i].write(&writer);
		assert_ok(recording_open_memory("x.mallow", writer.data, writer.size,
						RECORDING_BLOCKS, &recording));
		assert_true(fail_each(write_report, recording) > 500);
		assert_true(fail_each(write_flame, recording) >= 9);
		for (size_t at = 0; at < count; at++) {
			written = &formats[at];
			if (written->write && !may_be_empty(written))
				fail_each(write_format, recording);
		}
		assert_true(fail_each(write_tables, recording) > 1000);
		written = export_format_find("csv");
		each_block = true;
		fail_each(write_format, recording);
		each_block = false;
		written = export_format_find("pprof");
		profiles += fail_each(write_format, recording);
		changes += fail_each(write_change, recording);
		recording_close(recording);
		trace_writer_deinit(&writer);
	}
	assert_true(profiles > changes); // some have sites, of which nothing changed
}

static struct err *write_live(struct buf *buf, const struct recording *recording,
			      struct symbolized *symbolized)
{
	static const char lines[] = "never\nleak:nowhere\n";
	struct live_ignore ignore = {0};
	const struct live_view_options options = {.depth = 8, .name = "toy", .ignore = &ignore};
	struct style style = {.width = 80};
	struct live_view view = {0};
	struct json_writer json;
	struct err *err = live_ignore_add(&ignore, "lines", lines, strlen(lines));

	if (!err)
		err = live_view_create(recording, symbolized, &options, &view);
	if (!err)
		err = live_text_write(buf, &style, &view);
	if (!err) {
		json_init(&json, buf, false);
		err = live_json_write(&json, &view);
	}
	if (!err)
		err = live_view_collapsed(buf, &view);
	live_view_deinit(&view);
	live_ignore_deinit(&ignore);
	return err;
}

/* A stack of two frames by which 3 blocks are live, and one thread that allocated them. */
static void write_table(struct trace_writer *writer)
{
	static const uint32_t nodes[3][4] = {{0}, {0, 1}, {1, 2}};
	static const uint64_t sites[2][8] = {{0}, {4, 400, 1, 100, 4, 400, 2, 0}};
	static const uint64_t threads[2][8] = {{0}, {4, 400, UINT64_C(1) << 32 | 7, 'm'}};

	trace_writer_init(writer);
	trace_writer_chunk(writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_frame(writer, 1, 0x1001, 0);
	trace_writer_frame(writer, 2, 0x1002, 0);
	trace_writer_seal(writer);
	live_writer_header(writer, 3, 2, 2);
	live_writer_chunk(writer, 1, sizeof(nodes[0]), 0, 3);
	live_writer_bytes(writer, nodes, sizeof(nodes));
	live_writer_close(writer);
	live_writer_chunk(writer, 2, sizeof(sites[0]), 0, 2);
	live_writer_bytes(writer, sites, sizeof(sites));
	live_writer_close(writer);
	live_writer_chunk(writer, 3, sizeof(threads[0]), 0, 2);
	live_writer_bytes(writer, threads, sizeof(threads));
	live_writer_close(writer);
}

static void live(void **state)
{
	struct trace_writer writer;
	struct recording *recording;

	write_table(&writer);
	assert_ok(recording_open_memory("live", writer.data, writer.size, RECORDING_SUMS,
					&recording));
	assert_int_equal(recording_summary(recording)->leaked_blocks, 3);
	assert_true(fail_each(write_live, recording) > 200);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

/* Reading number `n` of a model that has read before: whatever fails, it can be given up. */
static void top(void **state)
{
	struct trace_writer writer;
	bool whole = false;

	write_table(&writer);
	for (long n = 0; !whole; n++) {
		struct top_screen screen = {.width = 80, .height = 20, .name = "toy"};
		struct top_model model = {.sort = TOP_BY_CHANGE};
		struct recording *recording;
		struct top_lines lines;
		struct buf buf;
		struct err *err;

		assert_ok(recording_open_memory("live", writer.data, writer.size, RECORDING_SUMS,
						&recording));
		buf_init(&buf);
		screen.stack = true;
		failing_malloc_countdown = n;
		err = top_model_take(&model, recording);
		if (!err)
			err = top_model_filter(&model, "0x100");
		if (!err)
			err = top_model_mark(&model);
		if (!err)
			err = top_text_write(&buf, &model, &screen, &lines);
		if (!err)
			err = buf_finish(&buf);
		failing_malloc_countdown = -1;
		whole = !err;
		if (err)
			assert_int_equal(err_number(err), ENOMEM);
		err_destroy(err);
		buf_deinit(&buf);
		top_model_deinit(&model);
	}
	trace_writer_deinit(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exports),
		cmocka_unit_test(checks_and_diffs),
		cmocka_unit_test(live),
		cmocka_unit_test(top),
	};

	failing_malloc_countdown = -1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
