#include "report/json/json_report.h"

#include <errno.h>

#include "analysis/aggregate/aggregate.h"
#include "analysis/views/hidden_heaps.h"
#include "hosted/cleanup.h"
#include "report/json/findings_json.h"
#include "report/views/site_order.h"
#include "report/words/unseen.h"

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

void json_report_site_sums(struct json_writer *json, const struct site *sum)
{
	json_field_u64(json, "peak_bytes", sum->peak_bytes);
	json_field_u64(json, "peak_blocks", sum->peak_blocks);
	json_field_u64(json, "leaked_bytes", sum->leaked_bytes);
	json_field_u64(json, "leaked_blocks", sum->leaked_blocks);
	json_field_u64(json, "total_bytes", sum->total_bytes);
	json_field_u64(json, "calls", sum->calls);
	json_field_u64(json, "temporary", sum->temporary);
}

static struct err *put_site(struct json_writer *json, struct json_stacks *stacks,
			    const struct site *site)
{
	struct err *err;

	json_object(json);
	json_field_u64(json, "own_peak_bytes", site->own_peak_bytes);
	json_report_site_sums(json, site);
	err = json_stacks_field_site(stacks, json, site->stack);
	if (!err)
		json_end(json);
	return err;
}

struct err *json_report_sites(struct json_writer *json, struct json_stacks *stacks,
			      const struct site *sites, uint32_t site_count, enum metric metric,
			      uint32_t top)
{
	auto_free uint32_t *order = NULL;
	uint32_t count;
	struct err *err;

	err = site_order_create(sites, site_count, metric, SITE_ORDER_ALL, &order, &count);
	if (err)
		return err;
	json_field_u64(json, "site_count", site_count);
	json_field_array(json, "sites");
	for (uint32_t i = 0; i < count && (!top || i < top) && !err; i++)
		err = put_site(json, stacks, &sites[order[i]]);
	if (!err)
		json_end(json);
	return err;
}

void json_report_identity(struct json_writer *json, const struct recording_facts *facts)
{
	json_field_text(json, "path", facts->path);
	json_field_text(json, "id", facts->id);
	json_field_text(json, "parent_id", *facts->parent_id ? facts->parent_id : NULL);
	json_field_text(json, "program", *facts->program ? facts->program : NULL);
	json_field_u64(json, "pid", facts->pid);
	json_field_bool(json, "complete", facts->complete);
	json_field_u64(json, "lost", facts->lost);
	json_field_double(json, "duration_s", seconds(facts->duration_ns));
}

void json_report_known(struct json_writer *json, const struct recording_facts *facts)
{
	json_key(json, "known");
	if (!facts->aggregate) {
		json_null(json);
		return;
	}
	json_array(json);
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		if (aggregate_knows(facts, metric))
			json_text(json, metric_info(metric)->name);
	json_end(json);
}

void json_report_sums(struct json_writer *json, const struct recording_summary *sum)
{
	json_field_u64(json, "calls", sum->calls);
	json_field_u64(json, "total_bytes", sum->total_bytes);
	json_field_u64(json, "peak_bytes", sum->peak_bytes);
	json_field_u64(json, "peak_blocks", sum->peak_blocks);
	json_field_double(json, "peak_time_s", seconds(sum->peak_time_ns));
	json_field_u64(json, "live_bytes", sum->live_bytes);
	json_field_u64(json, "leaked_bytes", sum->leaked_bytes);
	json_field_u64(json, "leaked_blocks", sum->leaked_blocks);
	json_field_u64(json, "temporary", sum->temporary);
}

/* Writes, for merged recordings, which they are, and what the numbers of all together mean. */
static void put_processes(struct json_writer *json, const struct recording_facts *facts,
			  const struct process_list *processes)
{
	json_field_array(json, "processes");
	for (size_t i = 0; i < processes->items.count; i++) {
		json_object(json);
		json_report_identity(json, &processes->items.items[i].facts);
		json_report_sums(json, &processes->items.items[i].summary);
		json_end(json);
	}
	json_end(json);
	json_field_bool(json, "complete", facts->complete);
	json_field_u64(json, "lost", facts->lost);
	json_field_double(json, "duration_s", seconds(facts->duration_ns));
	json_field_text(json, "peak_is",
			facts->peaks_added ? "sum of the peaks of the processes"
					   : "of all processes together");
}

/* Writes how many blocks and bytes each suppression hid, also for those that hid none. */
static void put_suppressed(struct json_writer *json, const struct report_subject *subject)
{
	size_t count;
	const struct suppression *list =
		suppressions_list(subject->suppressed->suppressions, &count);

	json_field_array(json, "suppressions");
	for (size_t i = 0; i < count; i++) {
		json_object(json);
		json_field_text(json, "pattern", list[i].pattern);
		json_field_text(json, "origin", list[i].origin);
		json_field_u64(json, "line", list[i].line);
		json_field_u64(json, "sites", subject->suppressed->sums[i].sites);
		json_field_u64(json, "blocks", subject->suppressed->sums[i].blocks);
		json_field_u64(json, "bytes", subject->suppressed->sums[i].bytes);
		json_end(json);
	}
	json_end(json);
	json_field_u64(json, "suppressed_blocks", subject->suppressed->all.blocks);
	json_field_u64(json, "suppressed_bytes", subject->suppressed->all.bytes);
}

/*
 * Memory that the program's language mapped for blocks that no sum here counts, and what else the
 * recording cannot show.
 */
static void put_unseen(struct json_writer *json, const struct report_subject *subject)
{
	const struct recording_facts *facts = recording_facts(subject->recording);
	struct hidden_heaps heaps = {0};
	struct err *err = NULL;

	// Not with a filter, which may leave out what the heaps are used for.
	if (!subject->processes && !facts->filtered)
		err = hidden_heaps_find(subject->recording, &heaps);
	if (err && !json->buf->failure)
		json->buf->failure = err_number(err) ? err_number(err) : ENOMEM;
	err_destroy(err);
	json_field_array(json, "unseen");
	for (int i = 0; i < HIDDEN_HEAP_COUNT; i++) {
		if (!heaps.of[i].count)
			continue;
		json_object(json);
		json_field_text(json, "kind", "heap");
		json_field_text(json, "mapped_by", hidden_heap_owner((enum hidden_heap)i));
		json_field_u64(json, "mappings", heaps.of[i].count);
		json_field_u64(json, "peak_bytes", heaps.of[i].peak_bytes);
		json_end(json);
	}
	unseen_json(json, facts);
	json_end(json);
	json_field_array(json, "patched");
	patched_json(json, facts);
	json_end(json);
}

void json_report_subject(struct json_writer *json, const struct report_subject *subject)
{
	const struct recording_facts *facts = recording_facts(subject->recording);

	if (subject->processes)
		put_processes(json, facts, subject->processes);
	else
		json_report_identity(json, facts);
	if (subject->filter)
		filter_report_json(json, subject->filter);
	if (subject->moment) {
		json_field_text(json, "at", subject->moment->typed);
		json_field_double(json, "at_s", (double)subject->moment->ns / 1e9);
	}
	if (subject->suppressed)
		put_suppressed(json, subject);
	json_field_bool(json, "imported", facts->imported);
	json_report_known(json, facts);
	json_report_sums(json, recording_summary(subject->recording));
	put_unseen(json, subject);
}

struct err *json_report_write(struct json_writer *json, struct json_stacks *stacks,
			      const struct report_subject *subject, enum metric metric,
			      uint32_t top)
{
	const struct site *sites;
	uint32_t site_count, pool_count;
	struct err *err;

	json_object(json);
	json_report_subject(json, subject);
	err = findings_json_write(json, stacks, subject->recording, subject->symbolized);
	if (err)
		return err;
	json_field_text(json, "sorted_by", metric_info(metric)->name);
	recording_pools(subject->recording, &pool_count);
	json_field_u64(json, "pool_count", pool_count);
	sites = recording_sites(subject->recording, &site_count);
	err = json_report_sites(json, stacks, sites, site_count, metric, top);
	if (!err)
		err = json_stacks_finish(stacks, json);
	if (!err)
		json_end(json);
	return err;
}

static void put_bound(struct json_writer *json, const char *name, uint64_t bound, bool culled)
{
	json_key(json, name);
	if (culled)
		json_null(json);
	else
		json_u64(json, bound);
}

/* Writes what a row is about. A value that is not known is null. */
static void put_identity(struct json_writer *json, enum block_groups_by by,
			 const struct breakdown_row *row)
{
	bool of_files = by == BLOCK_GROUPS_FILE || by == BLOCK_GROUPS_LINE;
	const struct named_frame *frame = row->frame;

	if (by == BLOCK_GROUPS_THREAD) {
		json_key(json, "tid");
		if (row->thread)
			json_u64(json, row->thread->tid);
		else
			json_null(json);
		json_field_text(json, "thread", row->thread ? row->thread->name : NULL);
		return;
	}
	if (by == BLOCK_GROUPS_MARK)
		json_field_text(json, "mark", row->mark);
	if (by == BLOCK_GROUPS_SIZE || by == BLOCK_GROUPS_MARK) {
		bool mark = by == BLOCK_GROUPS_MARK;

		put_bound(json, mark ? "from_ns" : "size_min", row->smallest, row->culled);
		put_bound(json, mark ? "to_ns" : "size_max", row->largest, row->culled);
		return;
	}
	json_field_text(json, "name", row->name);
	if (by == BLOCK_GROUPS_FUNCTION || by == BLOCK_GROUPS_FRAME)
		json_stacks_function(json, frame && frame->has_symbol ? frame : NULL);
	if (of_files)
		json_field_text(json, "file", frame ? frame->file : NULL);
	if (by == BLOCK_GROUPS_LINE && frame && frame->file)
		json_field_u64(json, "line", frame->line);
	if (!of_files || (frame && !frame->file))
		json_field_text(json, "module", frame ? frame->module : NULL);
}

void json_report_breakdown(struct json_writer *json, const struct breakdown_view *view)
{
	json_field_text(json, "by", block_groups_word(view->by));
	json_field_u64(json, "row_count", view->count);
	json_field_array(json, "rows");
	for (uint32_t i = 0; i < breakdown_view_rows(view); i++) {
		const struct breakdown_row *row = &view->rows[i];

		json_object(json);
		put_identity(json, view->by, row);
		if (row->culled)
			json_field_bool(json, "culled", true);
		json_key(json, "own_peak_bytes");
		if (row->own_peak_known)
			json_u64(json, row->own.own_peak_bytes);
		else
			json_null(json);
		json_report_site_sums(json, &row->own);
		if (!breakdown_view_of_blocks(view->by)) {
			json_field_object(json, "inclusive");
			json_report_site_sums(json, &row->inclusive);
			json_end(json);
		}
		json_end(json);
	}
	json_end(json);
}

static void put_class(struct json_writer *json, const struct histogram_sum *sum)
{
	json_field_u64(json, "calls", sum->calls);
	json_field_u64(json, "bytes", sum->bytes);
}

static void put_apart(struct json_writer *json, const char *name, const struct histogram_sum *sum)
{
	json_field_object(json, name);
	put_class(json, sum);
	json_end(json);
}

void json_report_histogram(struct json_writer *json, const struct histogram *histogram)
{
	bool sizes = histogram->of == HISTOGRAM_SIZE;

	json_field_text(json, "histogram", sizes ? "size" : "lifetime");
	json_field_array(json, "classes");
	for (size_t i = histogram->first; i < histogram->end; i++) {
		json_object(json);
		json_field_u64(json, sizes ? "size_min" : "lifetime_min_ns",
			       scale_lowest(&histogram->scale, i));
		json_field_u64(json, sizes ? "size_max" : "lifetime_max_ns",
			       histogram->scale.highest[i]);
		put_class(json, &histogram->classes[i]);
		json_end(json);
	}
	json_end(json);
	if (!sizes)
		put_apart(json, "leaked", &histogram->leaked);
	if (histogram->culled.calls)
		put_apart(json, "culled", &histogram->culled);
}
