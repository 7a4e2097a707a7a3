#include "cli/report/exporter.h"

#include <string.h>

#include "analysis/aggregate/aggregate.h"
#include "cli/cli.h"
#include "cli/output/output_folder.h"
#include "cli/output/terminal.h"
#include "cli/recordings/file_kind.h"
#include "cli/serve/serving.h"
#include "hosted/cleanup.h"
#include "hosted/compressor.h"
#include "hosted/file_name.h"
#include "hosted/nearest.h"

#define EXPORTER(...) +1
enum {
	EXPORTERS = 0
#include "report/export/exporters.def"
};
#undef EXPORTER

/* What the page calls the recording: /proc/PID/fd/N is nothing without its folders. */
static const char *page_name(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 ? path : file_name(path);
}

/* Writes the page. A progress bar is drawn on a terminal meanwhile. */
static struct err *write_html(struct buf *buf, const struct html_export *wanted)
{
	cleanup(catalog_destroy_at) struct catalog *catalog = NULL;
	cleanup(progress_deinit) struct progress progress = {0};
	const struct catalog_options kept = {
		.debug_paths = wanted->debug_paths,
		.max_open = 1,
		.max_memory = serving_memory(),
		.sources = wanted->sources,
		.still = true, // all answers are of one moment
		.anonymous = wanted->anonymous,
	};
	const struct html_file_options options = {
		.id = "last",
		.sources = wanted->sources.served,
		.nodes = wanted->nodes,
		.anonymous = wanted->anonymous,
		.name = page_name(wanted->path),
		.conditions = wanted->conditions ? wanted->conditions : "",
		.check = wanted->check,
		.progress = progress_update,
		.argument = &progress,
	};
	struct err *err = file_kind_check(wanted->path);

	progress_init(&progress, "exporting");
	if (!err)
		err = catalog_create(&kept, &catalog);
	if (!err)
		err = catalog_add(catalog, wanted->path);
	return err ? err : html_file_write(catalog, &options, buf);
}

const struct export_format *exporter_find(const char *typed)
{
	size_t count;
	const struct export_format *formats = export_formats(&count);
	const char *names[EXPORTERS];
	const char *near;

	for (size_t i = 0; i < count; i++) {
		names[i] = formats[i].name;
		if (typed && strcmp(typed, names[i]) == 0)
			return &formats[i];
	}
	near = typed ? nearest_word(typed, names, count) : NULL;
	if (!typed)
		cli_error(CLI_USAGE, "'export' needs --to FORMAT: one of %s", exporter_names + 1);
	else if (near)
		cli_error(CLI_USAGE, "unknown format '%s': did you mean '%s'?", typed, near);
	else
		cli_error(CLI_USAGE, "unknown format '%s': one of %s is wanted", typed,
			  exporter_names + 1);
	return NULL;
}

/* What is written: a page, or a subject in a format. */
struct job {
	const struct export_format *format;
	const struct export_subject *subject;
	const struct html_export *html;
};

static struct err *write_through(const struct job *job, const char *path, struct buf *buf)
{
	cleanup(compressor_destroy_at) struct compressor *compressor = NULL;
	enum compression compression =
		path && !job->format->compressed ? compression_of_name(path) : COMPRESSION_NONE;
	struct err *err = compressor_create(compression, buf, &compressor);
	struct buf *input;

	if (err)
		return err;
	input = compressor_input(compressor);
	err = job->html ? write_html(input, job->html) : job->format->write(input, job->subject);
	return err ? err : compressor_finish(compressor);
}

/* Of an aggregate: whether it has what the format shows. Settles the metric if none was asked for.
 */
static struct err *check_known(const struct export_format *format, struct export_subject *subject)
{
	const struct recording_facts *facts =
		subject->recording ? recording_facts(subject->recording) : NULL;

	if (!facts || !facts->aggregate)
		return NULL;
	if (format->of_blocks || subject->each_block)
		return err_create("%s: sums of stacks have no single blocks, which --to %s wants",
				  facts->path, format->name);
	return format->of_metric ? aggregate_settle(facts, subject->metric_asked, &subject->metric)
				 : NULL;
}

struct err *exporter_write_tables(const char *path, exporter_add *add, void *argument)
{
	cleanup(tables_destroy_at) struct tables *tables = NULL;
	struct output_folder folder = {0};
	struct buf *bufs[TABLE_COUNT];
	const char *names[TABLE_COUNT];
	struct err *err;

	for (int i = 0; i < TABLE_COUNT; i++) {
		names[i] = table_info(i).file;
		bufs[i] = &folder.files[i].buf;
	}
	err = output_folder_open(path, names, TABLE_COUNT, &folder);
	if (!err)
		err = tables_create(bufs, &tables);
	if (!err)
		err = add(argument, tables);
	if (!err)
		err = tables_finish(tables);
	return output_folder_close(&folder, err);
}

static struct err *add_subject(void *subject, struct tables *tables)
{
	return tables_add(tables, subject);
}

struct err *exporter_write(const struct export_format *format, const char *path,
			   const struct export_subject *subject, const struct html_export *html)
{
	cleanup(buf_deinit) struct buf note = BUF_EMPTY;
	struct export_subject noted = *subject;
	struct output output;
	struct err *err = check_known(format, &noted);

	if (!err && format->of_folder)
		return exporter_write_tables(path, add_subject, &noted);
	if (!err)
		err = output_open(path, &output);
	if (err)
		return err;
	output.buf.shown = false;
	noted.note = &note;
	err = output_close(&output,
			   write_through(&(struct job){format, &noted, html}, path, &output.buf));
	if (!err && note.size && buf_string(&note))
		cli_error(CLI_OK, "%s", note.data);
	return err;
}
