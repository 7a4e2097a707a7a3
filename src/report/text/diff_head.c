#include "report/text/diff_head.h"

#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "report/names/frame_name.h"
#include "report/names/own_name.h"
#include "report/views/summary.h"
#include "report/text/diff_words.h"
#include "report/text/suppressed_text.h"
#include "report/text/text_report.h"

#define PATH_LEAST  16
#define NEW_PERCENT 10 /* a function that is new is named if it is so much of all changes */

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
	} else {
		buf_printf(buf, "  ran %s, ", format_time(facts->duration_ns).text);
		summary_put_end(buf, facts);
	}
	if (facts->peaks_added)
		buf_text(buf, ", peaks added up");
	else if (!shown->moment)
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
		buf_printf(buf, "%s (%s)", diff_words_change(style, view->metric, all).text,
			   diff_words_percent(before, after).text);
	else if (all)
		buf_printf(buf, "%s", diff_words_change(style, view->metric, all).text);
	else
		buf_text(buf, view->rows->count ? "The sum is the same:" : "Nothing changed:");
	style_end(buf, style);
	if (all)
		buf_printf(buf, " %s: %s before, %s after.\n",
			   diff_words_metric(view, view->metric),
			   diff_words_value(style, view->metric, before).text,
			   diff_words_value(style, view->metric, after).text);
	else
		buf_printf(buf, " %s %s, before and after.\n",
			   diff_words_value(style, view->metric, after).text,
			   diff_words_metric(view, view->metric));
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
		   diff_words_change(style, view->metric, own).text);
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
			diff_words_change(style, view->metric, diff_row_change(new, view->metric))
				.text);
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

void diff_head_write(struct buf *buf, const struct style *style, const struct diff_view *view)
{
	for (int side = 0; side < DIFF_SIDES; side++)
		put_side(buf, style, view, side);
	buf_char(buf, '\n');
	put_first_sentence(buf, style, view);
	put_second_sentence(buf, style, view);
}
