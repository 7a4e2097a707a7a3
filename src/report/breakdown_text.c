/* The rows of a breakdown as a table: the metric first, then as many other sums as there is room.
 */
#include <inttypes.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "report/breakdown_view.h"
#include "report/format.h"
#include "report/frame_name.h"
#include "report/text_table.h"

#define NAME_LEAST 28 /* columns that a name keeps where numbers could take them */
#define OTHERS     5

static struct formatted value(enum metric metric, const struct site *sum, bool exact)
{
	uint64_t number = metric_of_site(metric, sum);

	return metric_info(metric)->bytes ? format_bytes(number, exact)
					  : format_count(number, exact);
}

static struct formatted plain(const char *text)
{
	struct formatted result = {0};

	strcpy(result.text, text);
	return result;
}

/*
 * The metrics that follow the one that rows are ordered by, the most telling ones first. They are
 * of the same sums as that one: own, or inclusive.
 */
static const enum metric others[OTHERS] = {METRIC_CALLS, METRIC_LEAKED, METRIC_TOTAL,
					   METRIC_TEMPORARY, METRIC_PEAK};

/* Of what was live at a moment, peak and total are the same, and nothing had been freed. */
static bool is_shown(const struct report_subject *subject, enum metric metric, enum metric sorted)
{
	if (metric == sorted)
		return false;
	if (!subject->moment)
		return true;
	return metric != METRIC_TEMPORARY && metric != METRIC_TOTAL &&
	       !(metric == METRIC_PEAK && sorted == METRIC_TOTAL);
}

static void add_columns(struct text_table *table, const struct report_subject *subject,
			const struct breakdown_view *view)
{
	bool of_blocks = breakdown_info(view->breakdown->by)->of_blocks;
	const char *own = of_blocks ? subject_metric(subject, view->metric) : "self";
	const char *other = of_blocks ? "own peak" : "inclusive";

	text_table_column(table, view->inclusive ? other : own, true);
	text_table_column(table, "share", true);
	text_table_column(table, view->inclusive ? own : other, false);
	for (size_t i = 0; i < OTHERS; i++)
		if (is_shown(subject, others[i], view->metric))
			text_table_column(table, subject_metric(subject, others[i]), false);
}

static void add_cells(struct text_table *table, const struct style *style,
		      const struct report_subject *subject, const struct breakdown_view *view,
		      const struct breakdown_row *row)
{
	const struct recording_summary *whole = recording_summary(subject->recording);
	const struct site *sorted = view->inclusive ? &row->inclusive : &row->own;
	const struct site *other = view->inclusive ? &row->own : &row->inclusive;

	text_table_cell(table, value(view->metric, sorted, style->exact));
	text_table_cell(table, format_percent(metric_of_site(view->metric, sorted),
					      metric_of_sum(view->metric, whole)));
	if (!breakdown_info(view->breakdown->by)->of_blocks)
		text_table_cell(table, value(view->metric, other, style->exact));
	else if (row->culled)
		text_table_cell(table, plain("-"));
	else
		text_table_cell(table, format_bytes(row->own.own_peak_bytes, style->exact));
	for (size_t i = 0; i < OTHERS; i++)
		if (is_shown(subject, others[i], view->metric))
			text_table_cell(table, value(others[i], sorted, style->exact));
}

static void put_thread(struct buf *buf, const struct recorded_thread *thread)
{
	if (*thread->name)
		style_safe_text(buf, thread->name, strlen(thread->name));
	else
		buf_text(buf, "[no name]");
	buf_printf(buf, "  (tid %" PRIu32 ")", thread->tid);
}

/* width 0: as long as it is. */
static void put_name(struct buf *buf, const struct style *style, const struct breakdown_row *row,
		     enum breakdown_by by, size_t width)
{
	bool strong = row->frame && row->frame->in_program;

	if (strong)
		style_begin(buf, style, STYLE_NAME);
	if (row->culled) {
		buf_text(buf, "[culled]");
	} else if (by == BREAKDOWN_THREAD) {
		put_thread(buf, row->thread);
	} else if (by == BREAKDOWN_SIZE) {
		buf_text(buf, format_size_class(row->smallest, row->largest).text);
	} else if (by == BREAKDOWN_FUNCTION || !width) {
		frame_name_put(buf, row->name, width);
	} else {
		cleanup(buf_deinit) struct buf safe;

		buf_init(&safe);
		style_safe_text(&safe, row->name, strlen(row->name));
		if (buf_string(&safe))
			frame_name_cut_front(buf, buf_string(&safe), width);
	}
	if (strong)
		style_end(buf, style);
}

static uint64_t sorted_value(const struct breakdown_view *view, uint32_t row)
{
	const struct breakdown_row *rows = view->breakdown->rows;

	return metric_of_site(view->metric,
			      view->inclusive ? &rows[row].inclusive : &rows[row].own);
}

static void put_title(struct buf *buf, const struct style *style,
		      const struct report_subject *subject, const struct breakdown_view *view,
		      uint32_t shown, uint32_t count)
{
	const struct breakdown_info *info = breakdown_info(view->breakdown->by);

	style_printf(buf, style, STYLE_STRONG, "%s %s %s by %s%s (%s)\n\n",
		     shown < count ? "Top" : "All", format_count(shown, true).text,
		     shown == 1 ? info->name : info->plural, view->inclusive ? "inclusive " : "",
		     subject_metric(subject, view->metric),
		     subject_metric_text(subject, view->metric));
}

static void put_rest(struct buf *buf, const struct style *style,
		     const struct report_subject *subject, const struct breakdown_view *view,
		     uint32_t shown, uint32_t count)
{
	uint64_t rest = 0;

	buf_printf(buf, "\n  \xe2\x80\xa6 %" PRIu32 " more", count - shown);
	for (uint32_t i = shown; i < count; i++)
		rest += sorted_value(view, i);
	// Inclusive sums of several rows are of the same allocations: they do not add up.
	if (!view->inclusive)
		buf_printf(
			buf, ", %s, %s of %s",
			metric_info(view->metric)->bytes
				? format_bytes(rest, style->exact).text
				: format_counted(rest, "call", style->exact).text,
			format_percent(rest, metric_of_sum(view->metric,
							   recording_summary(subject->recording)))
				.text,
			subject_metric(subject, view->metric));
	buf_text(buf, " (--top N shows more)\n");
}

static void put_rows(struct buf *buf, const struct style *style,
		     const struct report_subject *subject, const struct breakdown_view *view,
		     uint32_t shown)
{
	cleanup(text_table_deinit) struct text_table table = {0};
	enum breakdown_by by = view->breakdown->by;
	size_t width = style->full ? 0 : style->width, used;

	add_columns(&table, subject, view);
	for (uint32_t i = 0; i < shown; i++)
		add_cells(&table, style, subject, view, &view->breakdown->rows[i]);
	if (width)
		text_table_narrow(&table, width > NAME_LEAST ? width - NAME_LEAST : 0, 3);
	used = text_table_width(&table) + TEXT_TABLE_GAP;
	text_table_titles(&table, buf, style);
	style_printf(buf, style, STYLE_DIM, "  %s\n", breakdown_info(by)->name);
	for (uint32_t i = 0; i < shown; i++) {
		text_table_row(&table, buf, style, i);
		buf_repeat(buf, ' ', TEXT_TABLE_GAP);
		put_name(buf, style, &view->breakdown->rows[i], by,
			 !width                      ? 0
			 : width > used + NAME_LEAST ? width - used
						     : NAME_LEAST - TEXT_TABLE_GAP);
		buf_char(buf, '\n');
	}
}

struct err *breakdown_text_write(struct buf *buf, const struct style *style,
				 const struct report_subject *subject,
				 const struct breakdown_view *view)
{
	const char *name = subject_metric(subject, view->metric);
	uint32_t count = 0, shown;

	while (count < view->breakdown->count && sorted_value(view, count))
		count++;
	shown = view->top && view->top < count ? view->top : count;
	if (!count) {
		buf_printf(buf, "No %s has any: %s is 0.\n",
			   breakdown_info(view->breakdown->by)->name, name);
		return NULL;
	}
	put_title(buf, style, subject, view, shown, count);
	put_rows(buf, style, subject, view, shown);
	if (shown < count)
		put_rest(buf, style, subject, view, shown, count);
	return NULL;
}
