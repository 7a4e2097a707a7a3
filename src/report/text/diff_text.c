#include "report/text/diff_text.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "report/names/frame_name.h"
#include "report/names/own_name.h"
#include "report/text/diff_head.h"
#include "report/text/diff_words.h"
#include "report/text/text_stack.h"
#include "report/text/text_table.h"

#define STACKS       3 /* sites whose stacks are shown */
#define STACK_INDENT 5
#define NAME_LEAST   20
#define CALL_LEAST   8

/* Starts a table of two sides. */
static void add_columns(struct text_table *table)
{
	text_table_column(table, "before", false);
	text_table_column(table, "after", false);
	text_table_column(table, "change", true);
	text_table_column(table, "", false);
}

static void add_cells(struct text_table *table, const struct style *style, enum metric metric,
		      uint64_t before, uint64_t after)
{
	text_table_cell(table, diff_words_value(style, metric, before));
	text_table_cell(table, diff_words_value(style, metric, after));
	text_table_cell(table, diff_words_change(style, metric, (int64_t)(after - before)));
	text_table_cell(table, diff_words_percent(before, after));
}

/* Writes all metrics of the whole. */
static struct err *put_sums(struct buf *buf, const struct style *style,
			    const struct diff_view *view)
{
	static const enum metric shown[] = {METRIC_PEAK, METRIC_LEAKED, METRIC_TOTAL, METRIC_CALLS,
					    METRIC_TEMPORARY};
	cleanup(text_table_deinit) struct text_table table = {0};
	// Of a moment only what was live then is known.
	size_t count = diff_view_of_moments(view) ? 1 : ARRAY_COUNT(shown);

	add_columns(&table);
	for (size_t i = 0; i < count; i++)
		add_cells(&table, style, shown[i], diff_view_sum(view, DIFF_BEFORE, shown[i]),
			  diff_view_sum(view, DIFF_AFTER, shown[i]));
	buf_char(buf, '\n');
	text_table_titles(&table, buf, style);
	buf_char(buf, '\n');
	for (size_t i = 0; i < count; i++) {
		text_table_row(&table, buf, style, i);
		buf_printf(buf, "  %s\n", diff_words_metric(view, shown[i]));
	}
	return table.failed ? err_no_memory() : NULL;
}

/* How many columns a function takes with its place. */
static size_t columns_of(const struct style *style, const struct named_frame *frame)
{
	cleanup(buf_deinit) struct buf name = BUF_EMPTY;
	struct style plain = *style;

	plain.colour = false;
	own_name_put(&name, &plain, frame);
	return style_columns(name.data, name.size);
}

/* Writes what a site is called after, and what it called there, in at most room columns. */
static void put_site(struct buf *buf, const struct style *style, const struct diff_row *row,
		     size_t room)
{
	size_t taken;

	if (!row->frame) {
		buf_text(buf, "[no stack]");
		return;
	}
	taken = columns_of(style, row->frame);
	if (taken > room) {
		frame_name_put(buf, style, row->frame, room);
		return;
	}
	own_name_put(buf, style, row->frame);
	if (!row->call || taken + TEXT_TABLE_GAP + CALL_LEAST > room)
		return;
	buf_repeat(buf, ' ', TEXT_TABLE_GAP);
	style_begin(buf, style, STYLE_DIM);
	frame_name_put(buf, style, row->call, room == SIZE_MAX ? 0 : room - taken - TEXT_TABLE_GAP);
	style_end(buf, style);
}

static void put_name(struct buf *buf, const struct style *style, const struct diff_view *view,
		     const struct diff_row *row, size_t column)
{
	size_t width = style->width > column + NAME_LEAST ? style->width - column : NAME_LEAST;
	bool cut = style->width && !style->full;

	if (view->by == DIFF_BY_SITE)
		put_site(buf, style, row, cut ? width : SIZE_MAX);
	else if (view->by == DIFF_BY_FUNCTION && row->frame && row->frame->has_symbol)
		frame_name_put(buf, style, row->frame, cut ? width : 0);
	else
		frame_name_put_path(buf, style, row->name, cut ? width : 0);
}

static struct err *put_rows(struct buf *buf, const struct style *style,
			    const struct diff_view *view)
{
	cleanup(text_table_deinit) struct text_table table = {0};
	uint32_t shown = diff_view_rows(view);
	size_t column;

	add_columns(&table);
	for (uint32_t i = 0; i < shown; i++)
		add_cells(&table, style, view->metric,
			  metric_of_site(view->metric, &view->rows->items[i].sums[DIFF_BEFORE]),
			  metric_of_site(view->metric, &view->rows->items[i].sums[DIFF_AFTER]));
	style_printf(buf, style, STYLE_STRONG, "\nBy %s, %s\n", diff_view_by_name(view->by),
		     diff_words_metric(view, view->metric));
	column = text_table_width(&table) + TEXT_TABLE_GAP;
	text_table_titles(&table, buf, style);
	style_printf(buf, style, STYLE_DIM, "  %s\n",
		     view->by == DIFF_BY_MODULE ? "module" : "allocated by");
	for (uint32_t i = 0; i < shown; i++) {
		text_table_row(&table, buf, style, i);
		buf_repeat(buf, ' ', TEXT_TABLE_GAP);
		put_name(buf, style, view, &view->rows->items[i], column);
		buf_char(buf, '\n');
	}
	if (shown < view->rows->count) {
		int64_t rest = 0;

		for (uint32_t i = shown; i < view->rows->count; i++)
			rest += diff_row_change(&view->rows->items[i], view->metric);
		buf_printf(buf, "  \xe2\x80\xa6 %" PRIu32 " more, %s together (--top N)\n",
			   view->rows->count - shown,
			   diff_words_change(style, view->metric, rest).text);
	}
	return table.failed ? err_no_memory() : NULL;
}

static struct err *put_stacks(struct buf *buf, const struct style *style,
			      const struct diff_view *view)
{
	struct err *err = NULL;

	for (uint32_t i = 0; !err && view->sites && i < view->sites->count && i < STACKS; i++) {
		const struct diff_row *row = &view->sites->items[i];

		buf_printf(buf, "\n%3" PRIu32 ". ", i + 1);
		style_printf(
			buf, style, STYLE_STRONG, "%s",
			diff_words_change(style, view->metric, diff_row_change(row, view->metric))
				.text);
		buf_printf(buf, "  %s before, %s after\n",
			   diff_words_value(style, view->metric,
					    metric_of_site(view->metric, &row->sums[DIFF_BEFORE]))
				   .text,
			   diff_words_value(style, view->metric,
					    metric_of_site(view->metric, &row->sums[DIFF_AFTER]))
				   .text);
		err = text_stack_write(buf, style, view->diff->sides[DIFF_AFTER],
				       view->diff->symbolized, row->stack, STACK_INDENT, 0, NULL);
	}
	return err;
}

struct err *diff_text_write(struct buf *buf, const struct style *style,
			    const struct diff_view *view)
{
	struct err *err;

	diff_head_write(buf, style, view);
	err = put_sums(buf, style, view);
	if (!err && view->rows->count)
		err = put_rows(buf, style, view);
	return err ? err : put_stacks(buf, style, view);
}
