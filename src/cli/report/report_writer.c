#include "cli/report/report_writer.h"

#include <errno.h>
#include <string.h>

#include "analysis/aggregate/aggregate.h"
#include "analysis/filter/filter_maps.h"
#include "analysis/filter/moment.h"
#include "analysis/views/map_sites.h"
#include "cli/cli.h"
#include "cli/options/filter_options.h"
#include "cli/recordings/loaded.h"
#include "cli/recordings/merged.h"
#include "cli/output/output.h"
#include "hosted/cleanup.h"
#include "report/names/distinct_names.h"
#include "report/csv/csv_report.h"
#include "report/json/errors_json.h"
#include "report/json/json_report.h"
#include "report/json/mappings_json.h"
#include "report/json/pools_json.h"
#include "report/text/text_report.h"

struct writer {
	const struct report_wanted *wanted;
	struct output output;
	struct json_writer json;
	struct csv_writer csv;
	bool titled;      /* each recording's file is named above its report, or in its rows */
	bool behind;      /* something was written before */
	const char *path; /* of the recording, as it was given */
};

/* What a view needs besides the recording. */
struct made {
	struct breakdown_view breakdown;
	struct histogram histogram;
	struct map_sites mappings;
};

static void made_deinit(struct made *made)
{
	breakdown_view_deinit(&made->breakdown);
	map_sites_deinit(&made->mappings);
}

/* The mappings that match the filter. */
static struct err *make_mappings(const struct report_wanted *wanted,
				 const struct report_subject *subject, struct map_sites *ret)
{
	cleanup(filter_match_deinit) struct filter_match match = {0};
	cleanup(map_lives_deinit) struct map_lives lives = {0};
	struct err *err = map_lives_create(subject->recording, &lives);

	if (!err)
		err = filter_maps(wanted->filter, subject->recording, subject->symbolized, &lives,
				  &match);
	return err ? err
		   : map_sites_create(subject->recording, subject->symbolized, &lives, &match, ret);
}

static struct err *make(const struct report_wanted *wanted, const struct report_subject *subject,
			struct made *ret)
{
	if (wanted->view == REPORT_HISTOGRAM)
		return histogram_create(wanted->histogram, subject->recording, subject->blocks,
					subject->bits, &ret->histogram);
	if (wanted->view == REPORT_MAPPINGS)
		return make_mappings(wanted, subject, &ret->mappings);
	if (wanted->view != REPORT_BREAKDOWN)
		return NULL;
	ret->breakdown = (struct breakdown_view){
		.by = wanted->by,
		.metric = wanted->metric,
		.inclusive = wanted->inclusive,
		.top = wanted->top,
	};
	return breakdown_view_make(&ret->breakdown, subject);
}

static void put_path(struct writer *writer, const struct style *style, const char *path)
{
	struct buf *buf = &writer->output.buf;

	buf_text(buf, writer->behind ? "\n\n" : "");
	style_begin(buf, style, STYLE_DIM);
	buf_text(buf, "== ");
	style_safe_text(buf, path, strlen(path));
	buf_text(buf, " ==");
	style_end(buf, style);
	buf_char(buf, '\n');
}

static struct err *write_text(struct writer *writer, const struct report_subject *subject,
			      const struct made *made)
{
	const struct report_wanted *wanted = writer->wanted;
	cleanup(distinct_names_deinit) struct distinct_names names = {0};
	struct style style = wanted->style;
	struct text_report_options options = {
		.metric = wanted->metric,
		.words = {.tool = program_invocation_name, .path = writer->path},
		.page = wanted->page,
		.top = wanted->top,
		.tree = wanted->view == REPORT_TREE,
		.errors = wanted->view == REPORT_ERRORS,
		.pools = wanted->view == REPORT_POOLS,
		.pool_sites = wanted->pool_sites,
		.mappings = wanted->view == REPORT_MAPPINGS ? &made->mappings : NULL,
		.breakdown = wanted->view == REPORT_BREAKDOWN ? &made->breakdown : NULL,
		.histogram = wanted->view == REPORT_HISTOGRAM ? &made->histogram : NULL,
	};

	style.names = &names;
	if (writer->titled)
		put_path(writer, &style, recording_facts(subject->recording)->path);
	return text_report_write(&writer->output.buf, &style, subject, &options);
}

static struct err *write_json(struct writer *writer, const struct report_subject *subject,
			      const struct made *made)
{
	const struct report_wanted *wanted = writer->wanted;
	struct json_writer *json = &writer->json;
	cleanup(json_stacks_deinit) struct json_stacks stacks = {0};

	json_stacks_init(&stacks, subject->recording, subject->symbolized, wanted->inline_stacks);
	if (wanted->view == REPORT_ERRORS)
		return errors_json_write(json, &stacks, subject->recording, wanted->top);
	if (wanted->view == REPORT_POOLS)
		return pools_json_write(json, &stacks, subject->recording, wanted->metric,
					wanted->top);
	if (wanted->view == REPORT_MAPPINGS)
		return mappings_json_write(json, &stacks, subject->recording, &made->mappings,
					   wanted->metric, wanted->top);
	if (wanted->view == REPORT_SITES)
		return json_report_write(json, &stacks, subject, wanted->metric, wanted->top);
	json_object(json);
	json_report_subject(json, subject);
	if (wanted->view == REPORT_HISTOGRAM) {
		json_report_histogram(json, &made->histogram);
	} else {
		json_field_text(json, "sorted_by", metric_info(wanted->metric)->name);
		json_report_breakdown(json, &made->breakdown);
	}
	json_end(json);
	return NULL;
}

static void put_csv_header(struct writer *writer)
{
	const struct report_wanted *wanted = writer->wanted;

	if (writer->titled)
		csv_text(&writer->csv, "recording");
	if (wanted->view == REPORT_BREAKDOWN)
		csv_words(&writer->csv, csv_report_breakdown_columns(wanted->by));
	else if (wanted->view == REPORT_HISTOGRAM)
		csv_words(&writer->csv, csv_report_histogram_columns(wanted->histogram));
	else if (wanted->view == REPORT_MAPPINGS)
		csv_words(&writer->csv, CSV_REPORT_MAPPINGS);
	else
		csv_words(&writer->csv, CSV_REPORT_SITES);
}

static struct err *write_csv(struct writer *writer, const struct report_subject *subject,
			     const struct made *made)
{
	const struct report_wanted *wanted = writer->wanted;
	const char *path = writer->titled ? recording_facts(subject->recording)->path : NULL;

	if (!writer->behind)
		put_csv_header(writer);
	if (wanted->view == REPORT_BREAKDOWN)
		csv_report_breakdown(&writer->csv, &made->breakdown, path);
	else if (wanted->view == REPORT_HISTOGRAM)
		csv_report_histogram(&writer->csv, &made->histogram, path);
	else if (wanted->view == REPORT_MAPPINGS)
		return csv_report_mappings(&writer->csv, subject, &made->mappings, path,
					   wanted->metric, wanted->top);
	else
		return csv_report_write(&writer->csv, subject, path, wanted->metric, wanted->top);
	return NULL;
}

/* Writes a report. An error that affects this recording only is printed, and sets *failed. */
static struct err *write_made(struct writer *writer, const struct report_subject *subject,
			      bool *failed)
{
	cleanup(made_deinit) struct made made = {0};
	struct err *err = make(writer->wanted, subject, &made);

	if (err) {
		*failed = true;
		cli_report_err(err_prefix(err, "%s", recording_facts(subject->recording)->path));
		return NULL;
	}
	if (writer->wanted->format == REPORT_JSON)
		err = write_json(writer, subject, &made);
	else if (writer->wanted->format == REPORT_CSV)
		err = write_csv(writer, subject, &made);
	else
		err = write_text(writer, subject, &made);
	writer->behind = true;
	return err;
}

static struct err *write_subject(struct writer *writer, const struct report_subject *given,
				 bool *failed)
{
	cleanup(suppressed_deinit) struct suppressed suppressed = {0};
	struct report_subject subject = *given;
	struct err *err = NULL;

	if (writer->wanted->leaks) {
		err = suppressed_create(writer->wanted->leaks, given->recording, given->symbolized,
					&suppressed);
		subject.recording = suppressed.recording;
		subject.suppressed = &suppressed;
	}
	return err ? err : write_made(writer, &subject, failed);
}

/* Whether single blocks are needed. */
static bool needs_blocks(const struct report_wanted *wanted)
{
	if (wanted->view == REPORT_MAPPINGS)
		return false;
	return !filter_is_empty(wanted->filter) || wanted->view == REPORT_HISTOGRAM ||
	       (wanted->view == REPORT_BREAKDOWN && breakdown_view_of_blocks(wanted->by));
}

static struct err *resolve_moment(const char *typed, const struct recording *recording,
				  struct report_moment *ret)
{
	struct moment moment;

	if (!moment_parse(typed, &moment)) // cannot fail: it was parsed as alive_at
		return err_create("'%s' is no value of --at", typed);
	ret->typed = typed;
	return err_prefix(moment_resolve(&moment, recording, false, &ret->ns), "--at");
}

/* Narrows the subject, and what is shown, to what matches the filter. */
static struct err *narrow(const struct report_wanted *wanted, const struct loaded *loaded,
			  struct filter_view *view, struct report_moment *moment,
			  struct report_subject *subject)
{
	const char *typed = filter_alive_at(wanted->filter);
	struct err *err = NULL;

	if (!needs_blocks(wanted))
		return NULL;
	subject->blocks = loaded->recording;
	if (filter_is_empty(wanted->filter))
		return NULL;
	if (typed)
		err = resolve_moment(typed, loaded->recording, moment);
	if (!err)
		err = filter_view_create(wanted->filter, loaded->recording, loaded->symbolized,
					 view);
	if (err)
		return err;
	subject->bits = view->match.words;
	subject->recording = view->recording;
	subject->filter = &view->report;
	subject->moment = typed ? moment : NULL;
	return NULL;
}

/* Refuses what a live table would answer with nothing, although it does not know. */
static struct err *check_view(const struct report_wanted *wanted,
			      const struct recording_facts *facts)
{
	if (facts->aggregate && wanted->view != REPORT_SITES && wanted->view != REPORT_TREE &&
	    wanted->view != REPORT_BREAKDOWN)
		return err_create("this is not known of sums of stacks, which have no single "
				  "blocks");
	if (facts->aggregate && wanted->view == REPORT_BREAKDOWN &&
	    breakdown_view_of_blocks(wanted->by))
		return err_create("--by: this is not known of sums of stacks, which have no single "
				  "blocks");
	if (facts->live && wanted->view == REPORT_ERRORS)
		return err_create("--errors: a live table does not know frees; a recording does");
	if (facts->live && wanted->view == REPORT_POOLS)
		return err_create("--pools: a live table does not know pools; a recording does");
	if (facts->live && wanted->view == REPORT_MAPPINGS)
		return err_create("--mappings: a live table does not know mappings; a recording "
				  "does");
	return NULL;
}

/*
 * Writes the report of a loaded recording. *failed: it could not be shown; for instance it has no
 * such mark, or a pattern is too costly.
 */
static struct err *write_loaded(struct writer *writer, const struct loaded *loaded, bool *failed)
{
	cleanup(filter_view_deinit) struct filter_view view = {0};
	struct report_moment moment;
	struct report_subject subject = {
		.recording = loaded->recording,
		.symbolized = loaded->symbolized,
	};
	const struct report_wanted *all = writer->wanted;
	struct report_wanted wanted = *all;
	struct err *err = check_view(all, recording_facts(loaded->recording));

	if (!err)
		err = aggregate_settle(recording_facts(loaded->recording), all->metric_asked,
				       &wanted.metric);
	if (!err)
		err = narrow(&wanted, loaded, &view, &moment, &subject);
	if (!err) {
		writer->wanted = &wanted;
		err = write_subject(writer, &subject, failed);
		writer->wanted = all;
		return err;
	}
	*failed = true;
	cli_report_err(err_prefix(err, "%s", recording_facts(loaded->recording)->path));
	return NULL;
}

static bool open_recording(const struct report_wanted *wanted, const char *path, struct loaded *ret)
{
	if (wanted->view == REPORT_ERRORS)
		return loaded_open_errors(path, &wanted->naming, ret);
	if (needs_blocks(wanted))
		return loaded_open_filterable(path, &wanted->naming, ret);
	// The page of sites, and what stands out.
	if (wanted->view == REPORT_SITES && wanted->format != REPORT_CSV)
		return loaded_open_facts(path, &wanted->naming, ret);
	return loaded_open(path, &wanted->naming, ret);
}

/*
 * Writes one report after the other. *failed: a recording could not be opened, and an error was
 * printed.
 */
static struct err *write_each(struct writer *writer, const struct recording_paths *paths,
			      bool *failed)
{
	bool array = writer->wanted->format == REPORT_JSON && writer->titled;
	struct err *err = NULL;

	if (array)
		json_array(&writer->json);
	for (size_t i = 0; !err && i < paths->items.count; i++) {
		cleanup(loaded_close) struct loaded loaded = {0};

		writer->path = paths->items.items[i];
		if (open_recording(writer->wanted, writer->path, &loaded))
			err = write_loaded(writer, &loaded, failed);
		else
			*failed = true;
	}
	if (array && !err)
		json_end(&writer->json);
	return err;
}

static struct err *write_merged(struct writer *writer, const struct recording_paths *paths,
				bool *failed)
{
	cleanup(merged_close) struct merged merged = {0};
	struct report_subject subject;

	merged_open(paths, &writer->wanted->naming, &merged);
	*failed = merged.failed;
	if (!merged.merge)
		return NULL;
	subject = (struct report_subject){
		.recording = merge_recording(merged.merge),
		.symbolized = merge_symbolized(merged.merge),
		.processes = merge_processes(merged.merge),
	};
	return write_subject(writer, &subject, failed);
}

int report_writer_run(const struct report_wanted *wanted, const struct recording_paths *paths)
{
	struct writer writer = {
		.wanted = wanted,
		.titled = !wanted->merge && (paths->items.count > 1 || paths->directories),
	};
	bool failed = paths->failed;
	struct err *err = output_open_page(&writer.output);

	if (err)
		return cli_report_err(err);
	json_init(&writer.json, &writer.output.buf, true);
	writer.csv = (struct csv_writer){.buf = &writer.output.buf, .raw = wanted->csv_raw};
	writer.output.buf.shown = wanted->format != REPORT_CSV;
	err = wanted->merge ? write_merged(&writer, paths, &failed)
			    : write_each(&writer, paths, &failed);
	err = output_close(&writer.output, err);
	if (err)
		return cli_report_err(err);
	return failed ? CLI_FAILED : CLI_OK;
}
