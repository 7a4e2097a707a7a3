#include "report/csv/breakdown_csv.h"

#include "report/csv/csv_report.h"

#define INCLUSIVE                                                                                  \
	" inclusive_peak_bytes inclusive_peak_blocks inclusive_leaked_bytes "                      \
	"inclusive_leaked_blocks inclusive_total_bytes inclusive_calls inclusive_temporary"

const char *breakdown_csv_columns(enum block_groups_by by)
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
	default:
		break;
	}
	return "";
}

static void csv_identity(struct csv_writer *csv, enum block_groups_by by,
			 const struct breakdown_row *row)
{
	if (row->culled) {
		csv_empty(csv);
		csv_text(csv, by == BLOCK_GROUPS_THREAD ? "[culled]" : NULL);
	} else if (by == BLOCK_GROUPS_THREAD) {
		csv_u64(csv, row->thread->tid);
		csv_text(csv, row->thread->name);
	} else if (by == BLOCK_GROUPS_SIZE) {
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

void breakdown_csv_write(struct csv_writer *csv, const struct breakdown_view *view,
			 const char *path)
{
	for (uint32_t i = 0; i < breakdown_view_rows(view); i++) {
		const struct breakdown_row *row = &view->rows[i];

		if (path)
			csv_text(csv, path);
		csv_identity(csv, view->by, row);
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
