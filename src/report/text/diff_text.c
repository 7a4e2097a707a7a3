#include "report/text/diff_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "report/format.h"
#include "report/frame_name.h"
#include "report/own_name.h"
#include "report/summary.h"
#include "report/text/text_report.h"
#include "report/text/text_stack.h"
#include "report/text/text_table.h"

#define STACKS       3 /* sites whose stacks are shown */
#define STACK_INDENT 5
#define NAME_LEAST   20
#define PATH_LEAST   16
#define CALL_LEAST   8
#define NEW_PERCENT  10 /* a function that is new is named if it is so much of the change */

const char *diff_by_name(enum diff_by by)
{
	static const char *const names[] = {
		[DIFF_BY_FUNCTION] = "function",
		[DIFF_BY_SITE] = "site",
		[DIFF_BY_FILE] = "file",
		[DIFF_BY_MODULE] = "module",
	};

	return names[by];
}

static struct formatted value(const struct style *style, enum metric metric, uint64_t number)
{
	return metric_info(metric)->bytes ? format_bytes(number, style->exact)
					  : format_count(number, style->exact);
}

static struct formatted change(const struct style *style, enum metric metric, int64_t number)
{
	return format_change(number, metric_info(metric)->bytes, style->exact);
}

/* "+17.5 %", "-50 %", "new", "gone"; "-" if both are the same. */
static struct formatted percent(uint64_t before, uint64_t after)
{
	struct formatted result = {0};
	double share;

	if (before == after)
		return format_word("-");
	if (!before)
		return format_word("new");
	if (!after)
		return format_word("gone");
	share = ((double)after - (double)before) / (double)before * 100;
	if (share >= 1000)
		snprintf(result.text, sizeof(result.text), "\xc3\x97 %.3g",
			 (double)after / (double)before);
	else
		snprintf(result.text, sizeof(result.text),
			 share <= -9.95 || share >= 9.95 ? "%+.0f %%" : "%+.1f %%", share);
	return result;
}

static uint64_t sum_of(const struct diff_view *view, int side, enum metric metric)
{
	return metric_of_sum(metric, recording_summary(view->diff->sides[side]));
}

static bool of_moments(const struct diff_view *view)
{
	return view->sides[DIFF_BEFORE].moment && view->sides[DIFF_AFTER].moment;
}

/* What a metric is, behind a number: "12 MB more live at the peak". */
static const char *metric_words(const struct diff_view *view, enum metric metric)
{
	static const char *const words[METRIC_COUNT] = {
		[METRIC_PEAK] = "live at the peak",     [METRIC_LEAKED] = "never freed",
		[METRIC_TOTAL] = "allocated in all",    [METRIC_CALLS] = "allocations",
		[METRIC_TEMPORARY] = "temporary calls",
	};

	// All that was live at a moment was allocated, and none of it freed.
	if (of_moments(view) && (metric == METRIC_PEAK || metric == METRIC_TOTAL))
		return "live then";
	return words[metric];
}

static void put_side(struct buf *buf, const struct style *style, const struct diff_view *view,
		     int side)
{
	const struct recording *recording = view->diff->sides[side];
	const struct recording_facts *facts = recording_facts(recording);
	const struct recording_summary *summary = recording_summary(recording);
	cleanup(buf_deinit) struct buf scratch = BUF_EMPTY, run = BUF_EMPTY;
	size_t taken, room = 0;

	buf_printf(&run, "  ran %s, %s", format_time(facts->duration_ns).text,
		   summary_end(facts, &scratch));
	if (!view->sides[side].moment)
		buf_printf(&run, ", peak at %s", format_time(summary->peak_time_ns).text);
	if (view->sides[side].scale != 1)
		buf_printf(&run, ", numbers \xc3\x97 %.3g", view->sides[side].scale);
	buf_text(buf, side == DIFF_BEFORE ? "before  " : "after   ");
	taken = strlen("before  ") + style_columns(run.data, run.size);
	if (style->width && !style->full)
		room = style->width > taken + PATH_LEAST ? style->width - taken : PATH_LEAST;
	style_begin(buf, style, STYLE_STRONG);
	frame_name_put_path(buf, style, view->sides[side].typed, room);
	style_end(buf, style);
	style_begin(buf, style, STYLE_DIM);
	buf_put(buf, run.data, run.size);
	style_end(buf, style);
	buf_char(buf, '\n');
	text_report_live(buf, facts);
	text_report_reservations(buf, style, facts);
	summary_write_gaps(buf, style, recording);
}

/* Writes what the whole changed by. */
static void put_first_sentence(struct buf *buf, const struct style *style,
			       const struct diff_view *view)
{
	int64_t all = diff_change(view->diff, view->metric);
	uint64_t before = sum_of(view, DIFF_BEFORE, view->metric);
	uint64_t after = sum_of(view, DIFF_AFTER, view->metric);

	style_begin(buf, style, STYLE_STRONG);
	if (all && before && after)
		buf_printf(buf, "%s (%s)", change(style, view->metric, all).text,
			   percent(before, after).text);
	else if (all)
		buf_printf(buf, "%s", change(style, view->metric, all).text);
	else
		buf_text(buf, view->rows->count ? "The sum is the same:" : "Nothing changed:");
	style_end(buf, style);
	if (all)
		buf_printf(buf, " %s: %s before, %s after.\n", metric_words(view, view->metric),
			   value(style, view->metric, before).text,
			   value(style, view->metric, after).text);
	else
		buf_printf(buf, " %s %s, before and after.\n",
			   value(style, view->metric, after).text,
			   metric_words(view, view->metric));
}

/* The row that changed most in the direction of the whole. NULL: there is none. */
static const struct diff_row *find_most(const struct diff_view *view)
{
	int64_t all = diff_change(view->diff, view->metric);

	for (uint32_t i = 0; i < view->functions->count; i++) {
		const struct diff_row *row = &view->functions->items[i];

		if (row->frame && (!all || (diff_row_change(row, view->metric) > 0) == (all > 0)))
			return row;
	}
	return NULL;
}

/* A large function that was not there before. NULL: there is none but that one. */
static const struct diff_row *find_new(const struct diff_view *view, const struct diff_row *but)
{
	double least = (double)llabs(diff_change(view->diff, view->metric)) * NEW_PERCENT / 100;

	for (uint32_t i = 0; i < view->functions->count; i++) {
		const struct diff_row *row = &view->functions->items[i];

		if (row != but && row->frame && !row->sums[DIFF_BEFORE].calls &&
		    (double)diff_row_change(row, view->metric) >= least)
			return row;
	}
	return NULL;
}

static void put_most(struct buf *buf, const struct style *style, const struct diff_view *view,
		     const struct diff_row *most)
{
	int64_t all = diff_change(view->diff, view->metric);
	int64_t own = diff_row_change(most, view->metric);

	if (all && llabs(own) <= llabs(all))
		buf_printf(buf, "%s of it is for ",
			   format_percent((uint64_t)llabs(own), (uint64_t)llabs(all)).text);
	own_name_put(buf, style, most->frame);
	buf_printf(buf, "%s: %s", most->sums[DIFF_BEFORE].calls ? "" : ", which is new",
		   change(style, view->metric, own).text);
}

/* Writes which function changed most, and one that is new, in two lines if one is too short. */
static void put_second_sentence(struct buf *buf, const struct style *style,
				const struct diff_view *view)
{
	const struct diff_row *most = find_most(view), *new = find_new(view, most);
	cleanup(buf_deinit) struct buf first = BUF_EMPTY, second = BUF_EMPTY;
	struct style plain = *style;

	if (!most)
		return;
	plain.colour = false;
	put_most(&first, &plain, view, most);
	put_most(buf, style, view, most);
	if (new) {
		own_name_put(&second, style, new->frame);
		buf_printf(&second, " is new: %s",
			   change(style, view->metric, diff_row_change(new, view->metric)).text);
		buf_text(buf,
			 style->width && style_columns(first.data, first.size) +
							 style_columns(second.data, second.size) +
							 strlen("; .") >
						 style->width
				 ? ".\n"
				 : "; ");
		buf_put(buf, second.data, second.size);
	}
	buf_text(buf, ".\n");
}

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
	text_table_cell(table, value(style, metric, before));
	text_table_cell(table, value(style, metric, after));
	text_table_cell(table, change(style, metric, (int64_t)(after - before)));
	text_table_cell(table, percent(before, after));
}

/* Writes all metrics of the whole. */
static struct err *put_sums(struct buf *buf, const struct style *style,
			    const struct diff_view *view)
{
	static const enum metric shown[] = {METRIC_PEAK, METRIC_LEAKED, METRIC_TOTAL, METRIC_CALLS,
					    METRIC_TEMPORARY};
	cleanup(text_table_deinit) struct text_table table = {0};
	// Of a moment only what was live then is known.
	size_t count = of_moments(view) ? 1 : sizeof(shown) / sizeof(shown[0]);

	add_columns(&table);
	for (size_t i = 0; i < count; i++)
		add_cells(&table, style, shown[i], sum_of(view, DIFF_BEFORE, shown[i]),
			  sum_of(view, DIFF_AFTER, shown[i]));
	buf_char(buf, '\n');
	text_table_titles(&table, buf, style);
	buf_char(buf, '\n');
	for (size_t i = 0; i < count; i++) {
		text_table_row(&table, buf, style, i);
		buf_printf(buf, "  %s\n", metric_words(view, shown[i]));
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
	style_printf(buf, style, STYLE_STRONG, "\nBy %s, %s\n", diff_by_name(view->by),
		     metric_words(view, view->metric));
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
			   view->rows->count - shown, change(style, view->metric, rest).text);
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
		style_printf(buf, style, STYLE_STRONG, "%s",
			     change(style, view->metric, diff_row_change(row, view->metric)).text);
		buf_printf(buf, "  %s before, %s after\n",
			   value(style, view->metric,
				 metric_of_site(view->metric, &row->sums[DIFF_BEFORE]))
				   .text,
			   value(style, view->metric,
				 metric_of_site(view->metric, &row->sums[DIFF_AFTER]))
				   .text);
		err = text_stack_write(buf, style, view->diff->sides[DIFF_AFTER],
				       view->diff->symbolized, row->stack, STACK_INDENT, 0);
	}
	return err;
}

struct err *diff_text_write(struct buf *buf, const struct style *style,
			    const struct diff_view *view)
{
	struct err *err;

	for (int side = 0; side < DIFF_SIDES; side++)
		put_side(buf, style, view, side);
	buf_char(buf, '\n');
	put_first_sentence(buf, style, view);
	put_second_sentence(buf, style, view);
	err = put_sums(buf, style, view);
	if (!err && view->rows->count)
		err = put_rows(buf, style, view);
	return err ? err : put_stacks(buf, style, view);
}
