#include "report/text/diff_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "analysis/aggregate/aggregate.h"
#include "hosted/cleanup.h"
#include "report/names/frame_name.h"
#include "report/text/suppressed_text.h"
#include "report/text/text_report.h"
#include "report/text/text_stack.h"
#include "report/text/text_table.h"
#include "report/views/summary.h"
#include "report/words/format.h"

#define PATH_LEAST   16
#define NEW_PERCENT  10 /* a function that is new is named if it is so much of all changes */
#define STACKS       3  /* sites whose stacks are shown */
#define STACK_INDENT 5
#define NAME_LEAST   20
#define CALL_LEAST   8

/* A number of a metric: bytes, or a count. */
static struct formatted value_text(const struct style *style, enum metric metric, uint64_t number)
{
	return metric_info(metric)->bytes ? format_bytes(number, style->exact)
					  : format_count(number, style->exact);
}

static struct formatted change_text(const struct style *style, enum metric metric, int64_t number)
{
	return format_change(number, metric_info(metric)->bytes, style->exact);
}

static struct formatted percent_text(uint64_t before, uint64_t after)
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

static const char *metric_words(const struct diff_view *view, enum metric metric)
{
	static const char *const words[METRIC_COUNT] = {
		[METRIC_PEAK] = "live at the peak",     [METRIC_LEAKED] = "never freed",
		[METRIC_TOTAL] = "allocated in all",    [METRIC_CALLS] = "allocations",
		[METRIC_TEMPORARY] = "temporary calls",
	};

	if (metric == METRIC_PEAK &&
	    aggregate_is_dump(recording_facts(view->diff->sides[DIFF_BEFORE])) &&
	    aggregate_is_dump(recording_facts(view->diff->sides[DIFF_AFTER])))
		return "live then";
	// All that was live at a moment was allocated, and none of it freed.
	if (diff_view_of_moments(view) && (metric == METRIC_PEAK || metric == METRIC_TOTAL))
		return "live then";
	// Frees may be among what is missing of a side.
	for (int side = 0; metric == METRIC_LEAKED && side < DIFF_SIDES; side++)
		if (recording_facts_have_gaps(recording_facts(view->diff->sides[side])))
			return "not freed";
	return words[metric];
}

/* Writes how a side ran: the end of the line that begins with its file. */
static void put_run(struct buf *buf, const struct diff_view *view, int side)
{
	const struct recording_facts *facts = recording_facts(view->diff->sides[side]);
	const struct diff_side_view *shown = &view->sides[side];

	if (shown->processes) {
		buf_printf(buf, "  %s, %s in all%s",
			   format_counted(facts->processes, "recording", true).text,
			   format_time(facts->duration_ns).text,
			   facts->complete ? "" : ", not all complete");
	} else if (facts->aggregate) {
		buf_text(buf, "  ");
		style_safe_text(buf, facts->agent_version, strcspn(facts->agent_version, ","));
	} else {
		buf_printf(buf, "  ran %s, ", format_time(facts->duration_ns).text);
		summary_put_end(buf, facts);
	}
	if (facts->peaks_added)
		buf_text(buf, ", peaks added up");
	else if (!shown->moment && !facts->aggregate)
		buf_printf(
			buf, ", peak at %s",
			format_time(recording_summary(view->diff->sides[side])->peak_time_ns).text);
	if (shown->scale != 1)
		buf_printf(buf, ", numbers \xc3\x97 %.3g", shown->scale);
}

static void put_side(struct buf *buf, const struct style *style, const struct diff_view *view,
		     int side)
{
	const struct recording *recording = view->diff->sides[side];
	const struct recording_facts *facts = recording_facts(recording);
	cleanup(buf_deinit) struct buf run = BUF_EMPTY;
	size_t taken, room = 0;

	put_run(&run, view, side);
	buf_text(buf, side == DIFF_BEFORE ? "before  " : "after   ");
	taken = strlen("before  ") + style_columns(run.data, run.size);
	if (style->width && !style->full)
		room = style->width > taken + PATH_LEAST ? style->width - taken : PATH_LEAST;
	style_begin(buf, style, STYLE_STRONG);
	frame_name_put_path(buf, style, view->sides[side].typed, room);
	style_end(buf, style);
	style_begin(buf, style, STYLE_DIM);
	buf_append(buf, &run);
	style_end(buf, style);
	buf_char(buf, '\n');
	text_report_live(buf, facts);
	text_report_reservations(buf, style, facts);
	summary_write_gaps(buf, style, recording);
	if (view->sides[side].suppressed)
		suppressed_text_summary(buf, style, view->sides[side].suppressed);
}

/* Writes what the whole changed by. */
static void put_first_sentence(struct buf *buf, const struct style *style,
			       const struct diff_view *view)
{
	int64_t all = diff_change(view->diff, view->metric);
	uint64_t before = diff_view_sum(view, DIFF_BEFORE, view->metric);
	uint64_t after = diff_view_sum(view, DIFF_AFTER, view->metric);

	style_begin(buf, style, STYLE_STRONG);
	if (all && before && after)
		buf_printf(buf, "%s (%s)", change_text(style, view->metric, all).text,
			   percent_text(before, after).text);
	else if (all)
		buf_printf(buf, "%s", change_text(style, view->metric, all).text);
	else
		buf_text(buf, view->rows->count ? "The sum is the same:" : "Nothing changed:");
	style_end(buf, style);
	if (all)
		buf_printf(buf, " %s: %s before, %s after.\n", metric_words(view, view->metric),
			   value_text(style, view->metric, before).text,
			   value_text(style, view->metric, after).text);
	else
		buf_printf(buf, " %s %s, before and after.\n",
			   value_text(style, view->metric, after).text,
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

/* How much functions changed, up or down, all together. */
static double moved(const struct diff_view *view)
{
	double sum = 0;

	for (uint32_t i = 0; i < view->functions->count; i++)
		sum += (double)llabs(diff_row_change(&view->functions->items[i], view->metric));
	return sum;
}

/* A large function that was not there before. NULL: there is none but that one. */
static const struct diff_row *find_new(const struct diff_view *view, const struct diff_row *but)
{
	double least = moved(view) * NEW_PERCENT / 100;

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
		   change_text(style, view->metric, own).text);
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
		buf_printf(
			&second, " is new: %s",
			change_text(style, view->metric, diff_row_change(new, view->metric)).text);
		buf_text(buf,
			 style->width && style_columns(first.data, first.size) +
							 style_columns(second.data, second.size) +
							 strlen("; .") >
						 style->width
				 ? ".\n"
				 : "; ");
		buf_append(buf, &second);
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
	text_table_cell(table, value_text(style, metric, before));
	text_table_cell(table, value_text(style, metric, after));
	text_table_cell(table, change_text(style, metric, (int64_t)(after - before)));
	text_table_cell(table, percent_text(before, after));
}

/* Whether both sides know the metric, and it is not that of the line above. */
static bool is_shown(const struct diff_view *view, enum metric metric)
{
	for (int side = 0; side < DIFF_SIDES; side++) {
		const struct recording_facts *facts = recording_facts(view->diff->sides[side]);

		if (!aggregate_knows(facts, metric) ||
		    (metric == METRIC_LEAKED && aggregate_is_dump(facts)))
			return false;
	}
	return true;
}

/* Writes all metrics of the whole. */
static struct err *put_sums(struct buf *buf, const struct style *style,
			    const struct diff_view *view)
{
	static const enum metric shown[] = {METRIC_PEAK, METRIC_LEAKED, METRIC_TOTAL, METRIC_CALLS,
					    METRIC_TEMPORARY};
	cleanup(text_table_deinit) struct text_table table = {0};
	// Of a moment only what was live then is known.
	size_t most = diff_view_of_moments(view) ? 1 : ARRAY_COUNT(shown), count = 0;
	enum metric known[ARRAY_COUNT(shown)];

	for (size_t i = 0; i < most; i++)
		if (is_shown(view, shown[i]))
			known[count++] = shown[i];
	add_columns(&table);
	for (size_t i = 0; i < count; i++)
		add_cells(&table, style, known[i], diff_view_sum(view, DIFF_BEFORE, known[i]),
			  diff_view_sum(view, DIFF_AFTER, known[i]));
	buf_char(buf, '\n');
	text_table_titles(&table, buf, style);
	buf_char(buf, '\n');
	for (size_t i = 0; i < count; i++) {
		text_table_row(&table, buf, style, i);
		buf_printf(buf, "  %s\n", metric_words(view, known[i]));
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
		frame_name_put_listed(buf, style, row->frame, cut ? width : 0);
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
			   view->rows->count - shown, change_text(style, view->metric, rest).text);
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
			change_text(style, view->metric, diff_row_change(row, view->metric)).text);
		buf_printf(buf, "  %s before, %s after\n",
			   value_text(style, view->metric,
				      metric_of_site(view->metric, &row->sums[DIFF_BEFORE]))
				   .text,
			   value_text(style, view->metric,
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
