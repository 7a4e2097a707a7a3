#include "report/csv/diff_csv.h"

#include "hosted/cleanup.h"
#include "report/csv/csv_report.h"

#define SUMS(side)                                                                                 \
	side "_peak_bytes " side "_peak_blocks " side "_leaked_bytes " side "_leaked_blocks " side \
	     "_total_bytes " side "_calls " side "_temporary "

static const char *identity(enum diff_by by)
{
	return by == DIFF_BY_SITE       ? CSV_REPORT_STACK
	       : by == DIFF_BY_FUNCTION ? "function module"
					: diff_view_by_name(by);
}

static void put_identity(struct csv_writer *csv, enum diff_by by, const struct diff_row *row)
{
	bool named = by == DIFF_BY_FUNCTION && row->frame && row->frame->has_symbol;

	csv_text(csv, named ? row->frame->function : row->name);
	if (by == DIFF_BY_FUNCTION)
		csv_text(csv, row->frame ? row->frame->module : NULL);
}

struct err *diff_csv_write(struct csv_writer *csv, const struct diff_view *view)
{
	cleanup(buf_deinit) struct buf header = BUF_EMPTY;
	cleanup(csv_frames_deinit) struct csv_frames frames = {0};
	struct report_subject subject = {
		.recording = view->diff->sides[DIFF_AFTER],
		.symbolized = view->diff->symbolized,
	};
	struct err *err = NULL;

	buf_printf(&header, SUMS("before") SUMS("after") "%s", identity(view->by));
	if (!buf_string(&header))
		return buf_finish(&header);
	csv_words(csv, buf_string(&header));
	for (uint32_t i = 0; !err && i < diff_view_rows(view); i++) {
		const struct diff_row *row = &view->rows->items[i];

		for (int side = 0; side < DIFF_SIDES; side++)
			csv_report_sums(csv, &row->sums[side]);
		if (view->by == DIFF_BY_SITE)
			err = csv_report_stack(csv, &subject, row->stack, &frames);
		else
			put_identity(csv, view->by, row);
		csv_end_row(csv);
	}
	return err;
}
