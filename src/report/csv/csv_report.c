#include "report/csv/csv_report.h"

#include "analysis/names/frame_label.h"
#include "hosted/cleanup.h"
#include "report/views/site_order.h"

void csv_report_sums(struct csv_writer *csv, const struct site *sum)
{
	csv_u64(csv, sum->peak_bytes);
	csv_u64(csv, sum->peak_blocks);
	csv_u64(csv, sum->leaked_bytes);
	csv_u64(csv, sum->leaked_blocks);
	csv_u64(csv, sum->total_bytes);
	csv_u64(csv, sum->calls);
	csv_u64(csv, sum->temporary);
}

/*
 * Writes the labels of all frames. *innermost: the first of their named lines; NULL: there is none.
 */
static struct err *put_stack(struct buf *buf, const struct report_subject *subject, uint32_t node,
			     const struct named_frame **innermost)
{
	uint32_t count;
	const struct stack_node *nodes = recording_stacks(subject->recording, &count);

	*innermost = NULL;
	for (; node != RECORDING_NONE; node = nodes[node].parent) {
		const struct named_frame *lines;
		size_t line_count;
		struct err *err = symbolized_frame(subject->symbolized, nodes[node].frame, &lines,
						   &line_count);

		if (err)
			return err;
		for (size_t i = 0; i < line_count; i++) {
			if (*innermost)
				buf_char(buf, ';');
			else
				*innermost = &lines[i];
			frame_label(buf, &lines[i]);
		}
	}
	return NULL;
}

struct err *csv_report_stack(struct csv_writer *csv, const struct report_subject *subject,
			     uint32_t node, struct buf *stack)
{
	const struct named_frame *frame;
	struct err *err;

	stack->size = 0;
	err = put_stack(stack, subject, node, &frame);
	if (!err && !buf_string(stack))
		err = buf_finish(stack);
	if (err)
		return err;
	csv_text(csv, frame ? frame->function : NULL);
	csv_text(csv, frame ? frame->file : NULL);
	if (frame && frame->line)
		csv_u64(csv, frame->line);
	else
		csv_empty(csv);
	csv_text(csv, frame ? frame->module : NULL);
	csv_text(csv, buf_string(stack));
	return NULL;
}

static struct err *put_site(struct csv_writer *csv, const struct report_subject *subject,
			    const char *path, const struct site *site, struct buf *stack)
{
	struct err *err;

	if (path)
		csv_text(csv, path);
	csv_u64(csv, site->own_peak_bytes);
	csv_report_sums(csv, site);
	err = csv_report_stack(csv, subject, site->stack, stack);
	csv_end_row(csv);
	return err;
}

struct err *csv_report_write(struct csv_writer *csv, const struct report_subject *subject,
			     const char *path, enum metric metric, uint32_t top)
{
	cleanup(buf_deinit) struct buf stack = BUF_EMPTY;
	auto_free uint32_t *order = NULL;
	uint32_t site_count, count;
	const struct site *sites = recording_sites(subject->recording, &site_count);
	struct err *err;

	err = site_order_create(sites, site_count, metric, SITE_ORDER_ALL, &order, &count);
	for (uint32_t i = 0; !err && i < count && (!top || i < top); i++)
		err = put_site(csv, subject, path, &sites[order[i]], &stack);
	return err;
}

#define INCLUSIVE                                                                                  \
	" inclusive_peak_bytes inclusive_peak_blocks inclusive_leaked_bytes "                      \
	"inclusive_leaked_blocks inclusive_total_bytes inclusive_calls inclusive_temporary"

const char *csv_report_breakdown_columns(enum block_groups_by by)
{
	switch (by) {
	case BLOCK_GROUPS_FUNCTION:
	case BLOCK_GROUPS_FRAME:
		return "function module own_peak_bytes " CSV_REPORT_SUMS INCLUSIVE;
	case BLOCK_GROUPS_FILE:
		return "file own_peak_bytes " CSV_REPORT_SUMS INCLUSIVE;
	case BLOCK_GROUPS_LINE:
		return "line own_peak_bytes " CSV_REPORT_SUMS INCLUSIVE;
	case BLOCK_GROUPS_MODULE:
		return "module own_peak_bytes " CSV_REPORT_SUMS INCLUSIVE;
	case BLOCK_GROUPS_THREAD:
		return "tid thread own_peak_bytes " CSV_REPORT_SUMS;
	case BLOCK_GROUPS_SIZE:
		return "size_min size_max own_peak_bytes " CSV_REPORT_SUMS;
	case BLOCK_GROUPS_MARK:
		return "mark from_ns to_ns own_peak_bytes " CSV_REPORT_SUMS;
	default:
		break;
	}
	return "";
}

static void put_identity(struct csv_writer *csv, enum block_groups_by by,
			 const struct breakdown_row *row)
{
	if (by == BLOCK_GROUPS_MARK)
		csv_text(csv, row->culled ? "[culled]" : row->mark);
	if (row->culled) {
		csv_empty(csv);
		csv_text(csv, by == BLOCK_GROUPS_THREAD ? "[culled]" : NULL);
	} else if (by == BLOCK_GROUPS_THREAD) {
		csv_u64(csv, row->thread->tid);
		csv_text(csv, row->thread->name);
	} else if (by == BLOCK_GROUPS_SIZE || by == BLOCK_GROUPS_MARK) {
		csv_u64(csv, row->smallest);
		csv_u64(csv, row->largest);
	} else {
		bool of_functions = by == BLOCK_GROUPS_FUNCTION || by == BLOCK_GROUPS_FRAME;
		bool named = !of_functions || !row->frame || !row->frame->has_symbol;

		csv_text(csv, named ? row->name : row->frame->function);
		if (of_functions)
			csv_text(csv, row->frame ? row->frame->module : NULL);
	}
}

void csv_report_breakdown(struct csv_writer *csv, const struct breakdown_view *view,
			  const char *path)
{
	for (uint32_t i = 0; i < breakdown_view_rows(view); i++) {
		const struct breakdown_row *row = &view->rows[i];

		if (path)
			csv_text(csv, path);
		put_identity(csv, view->by, row);
		if (row->own_peak_known)
			csv_u64(csv, row->own.own_peak_bytes);
		else
			csv_empty(csv);
		csv_report_sums(csv, &row->own);
		if (!breakdown_view_of_blocks(view->by))
			csv_report_sums(csv, &row->inclusive);
		csv_end_row(csv);
	}
}

const char *csv_report_histogram_columns(enum histogram_of of)
{
	return of == HISTOGRAM_SIZE ? "class size_min size_max calls bytes"
				    : "class lifetime_min_ns lifetime_max_ns calls bytes";
}

static void put_apart(struct csv_writer *csv, const char *path, const char *name,
		      const struct histogram_sum *sum)
{
	if (!sum->calls)
		return;
	if (path)
		csv_text(csv, path);
	csv_text(csv, name);
	csv_empty(csv);
	csv_empty(csv);
	csv_u64(csv, sum->calls);
	csv_u64(csv, sum->bytes);
	csv_end_row(csv);
}

void csv_report_histogram(struct csv_writer *csv, const struct histogram *histogram,
			  const char *path)
{
	for (size_t i = histogram->first; i < histogram->end; i++) {
		if (path)
			csv_text(csv, path);
		csv_text(csv, histogram->of == HISTOGRAM_SIZE ? "size" : "lifetime");
		csv_u64(csv, scale_lowest(&histogram->scale, i));
		csv_u64(csv, histogram->scale.highest[i]);
		csv_u64(csv, histogram->classes[i].calls);
		csv_u64(csv, histogram->classes[i].bytes);
		csv_end_row(csv);
	}
	put_apart(csv, path, "culled", &histogram->culled);
	put_apart(csv, path, "leaked", &histogram->leaked);
}

static struct err *put_mapping(struct csv_writer *csv, const struct report_subject *subject,
			       const struct site *site, enum map_kind kind, const char *path,
			       struct buf *stack)
{
	struct err *err;

	if (path)
		csv_text(csv, path);
	csv_text(csv, map_kind_name(kind));
	csv_u64(csv, site->peak_bytes);
	csv_u64(csv, site->leaked_bytes);
	csv_u64(csv, site->leaked_blocks);
	csv_u64(csv, site->total_bytes);
	csv_u64(csv, site->calls);
	err = csv_report_stack(csv, subject, site->stack, stack);
	csv_end_row(csv);
	return err;
}

struct err *csv_report_mappings(struct csv_writer *csv, const struct report_subject *subject,
				const struct map_sites *sites, const char *path, enum metric metric,
				uint32_t top)
{
	cleanup(buf_deinit) struct buf stack = BUF_EMPTY;
	auto_free uint32_t *order = NULL;
	uint32_t count;
	struct err *err = site_order_create(sites->sites, sites->count, metric, SITE_ORDER_ALL,
					    &order, &count);

	for (uint32_t i = 0; !err && i < count && (!top || i < top); i++)
		err = put_mapping(csv, subject, &sites->sites[order[i]], sites->kinds[order[i]],
				  path, &stack);
	return err;
}
