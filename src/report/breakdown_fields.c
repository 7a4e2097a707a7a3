/* The rows of a breakdown for programs: JSON and CSV, with all sums. */
#include "report/breakdown_view.h"
#include "report/csv_report.h"
#include "report/json_report.h"

static uint32_t rows_shown(const struct breakdown_view *view)
{
	uint32_t count = view->breakdown->count;

	return view->top && view->top < count ? view->top : count;
}

/* What the row is of, by fields whose values are null where that is not known. */
static void put_identity(struct json_writer *json, enum breakdown_by by,
			 const struct breakdown_row *row)
{
	const struct named_frame *frame = row->frame;

	if (by == BREAKDOWN_THREAD) {
		json_key(json, "tid");
		if (row->thread)
			json_u64(json, row->thread->tid);
		else
			json_null(json);
		json_field_text(json, "thread", row->thread ? row->thread->name : NULL);
		return;
	}
	if (by == BREAKDOWN_SIZE && row->culled) {
		json_field_text(json, "size_min", NULL);
		json_field_text(json, "size_max", NULL);
		return;
	}
	if (by == BREAKDOWN_SIZE) {
		json_field_u64(json, "size_min", row->smallest);
		json_field_u64(json, "size_max", row->largest);
		return;
	}
	json_field_text(json, "name", row->name);
	if (by == BREAKDOWN_FUNCTION)
		json_field_text(json, "function",
				frame && frame->has_symbol ? frame->function : NULL);
	if (by == BREAKDOWN_FILE)
		json_field_text(json, "file", frame ? frame->file : NULL);
	if (by != BREAKDOWN_FILE || (frame && !frame->file))
		json_field_text(json, "module", frame ? frame->module : NULL);
}

void breakdown_json_write(struct json_writer *json, const struct breakdown_view *view)
{
	const struct breakdown *breakdown = view->breakdown;
	const struct breakdown_info *info = breakdown_info(breakdown->by);

	json_field_text(json, "by", info->name);
	json_field_u64(json, "row_count", breakdown->count);
	json_key(json, "rows");
	json_array(json);
	for (uint32_t i = 0; i < rows_shown(view); i++) {
		const struct breakdown_row *row = &breakdown->rows[i];

		json_object(json);
		put_identity(json, breakdown->by, row);
		if (row->culled)
			json_field_bool(json, "culled", true);
		json_key(json, "own_peak_bytes");
		if (row->own_peak_known)
			json_u64(json, row->own.own_peak_bytes);
		else
			json_null(json);
		json_report_site_sums(json, &row->own);
		if (!info->of_blocks) {
			json_key(json, "inclusive");
			json_object(json);
			json_report_site_sums(json, &row->inclusive);
			json_end(json);
		}
		json_end(json);
	}
	json_end(json);
}

#define INCLUSIVE                                                                                  \
	" inclusive_peak_bytes inclusive_peak_blocks inclusive_leaked_bytes "                      \
	"inclusive_leaked_blocks inclusive_total_bytes inclusive_calls inclusive_temporary"

const char *breakdown_csv_columns(enum breakdown_by by)
{
	switch (by) {
	case BREAKDOWN_FUNCTION:
		return "function module own_peak_bytes " CSV_REPORT_SUMS INCLUSIVE;
	case BREAKDOWN_FILE:
		return "file own_peak_bytes " CSV_REPORT_SUMS INCLUSIVE;
	case BREAKDOWN_MODULE:
		return "module own_peak_bytes " CSV_REPORT_SUMS INCLUSIVE;
	case BREAKDOWN_THREAD:
		return "tid thread own_peak_bytes " CSV_REPORT_SUMS;
	case BREAKDOWN_SIZE:
		return "size_min size_max own_peak_bytes " CSV_REPORT_SUMS;
	case BREAKDOWN_COUNT:
		break;
	}
	return "";
}

static void csv_identity(struct csv_writer *csv, enum breakdown_by by,
			 const struct breakdown_row *row)
{
	if (row->culled) {
		csv_empty(csv);
		csv_text(csv, by == BREAKDOWN_THREAD ? "[culled]" : NULL);
	} else if (by == BREAKDOWN_THREAD) {
		csv_u64(csv, row->thread->tid);
		csv_text(csv, row->thread->name);
	} else if (by == BREAKDOWN_SIZE) {
		csv_u64(csv, row->smallest);
		csv_u64(csv, row->largest);
	} else {
		bool named = by != BREAKDOWN_FUNCTION || !row->frame || !row->frame->has_symbol;

		csv_text(csv, named ? row->name : row->frame->function);
		if (by == BREAKDOWN_FUNCTION)
			csv_text(csv, row->frame ? row->frame->module : NULL);
	}
}

void breakdown_csv_write(struct csv_writer *csv, const struct breakdown_view *view,
			 const char *path)
{
	const struct breakdown *breakdown = view->breakdown;

	for (uint32_t i = 0; i < rows_shown(view); i++) {
		const struct breakdown_row *row = &breakdown->rows[i];

		if (path)
			csv_text(csv, path);
		csv_identity(csv, breakdown->by, row);
		if (row->own_peak_known)
			csv_u64(csv, row->own.own_peak_bytes);
		else
			csv_empty(csv);
		csv_report_sums(csv, &row->own);
		if (!breakdown_info(breakdown->by)->of_blocks)
			csv_report_sums(csv, &row->inclusive);
		csv_end_row(csv);
	}
}
