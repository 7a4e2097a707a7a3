#include "report/text/breakdown_text.h"

#include <inttypes.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "report/words/format.h"
#include "report/names/frame_name.h"
#include "report/names/frame_text.h"
#include "report/text/text_table.h"

/*
 * Columns for names, with the gap before them: what they keep at most if numbers could take it,
 * what at least, and what they always get.
 */
#define NAME_LONG  40
#define NAME_SHORT 26
#define NAME_FLOOR 20
#define OTHERS     5
#define TINY       60 /* a line for two numbers and a name */

static bool is_of_functions(enum block_groups_by by)
{
	return by == BLOCK_GROUPS_FUNCTION || by == BLOCK_GROUPS_FRAME;
}

static struct formatted value(enum metric metric, const struct site *sum, bool exact)
{
	uint64_t number = metric_of_site(metric, sum);

	return metric_info(metric)->bytes ? format_bytes(number, exact)
					  : format_count(number, exact);
}

/*
 * The metrics shown beside the one that rows are sorted by, the most telling first. All are own
 * sums, or all are inclusive.
 */
static const enum metric others[OTHERS] = {METRIC_CALLS, METRIC_LEAKED, METRIC_TOTAL,
					   METRIC_TEMPORARY, METRIC_PEAK};

/*
 * Whether a metric has a column. For a moment, peak and total are the same, and nothing had been
 * freed.
 */
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
	bool of_blocks = breakdown_view_of_blocks(view->by);
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
	if (!breakdown_view_of_blocks(view->by))
		text_table_cell(table, value(view->metric, other, style->exact));
	else if (row->culled)
		text_table_cell(table, format_word("-"));
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

/* Writes a mark and when it was, in at most `width` columns (0: any number). The start is none. */
static void put_mark(struct buf *buf, const struct style *style, const struct breakdown_row *row,
		     size_t width)
{
	struct formatted at = format_time(row->smallest);
	size_t taken = row->number ? strlen("  (at )") + strlen(at.text) : 0;

	frame_name_put_path(buf, style, row->mark, width > taken ? width - taken : width);
	if (taken)
		buf_printf(buf, "  (at %s)", at.text);
}

/*
 * Writes a function as the tree does, but without its place, which is only that of one of its
 * calls; of a script's with its file.
 */
static void put_function(struct buf *buf, const struct style *style,
			 const struct named_frame *frame, size_t column)
{
	struct named_frame function = *frame;

	function.file = frame->script ? frame->module_name : NULL;
	function.line = 0;
	function.inlined = false;
	frame_text_line(buf, style, &function, column, 1);
}

/* Writes what a row is about, behind so many columns of numbers. */
static void put_name(struct buf *buf, const struct style *style, const struct breakdown_row *row,
		     enum block_groups_by by, size_t column)
{
	size_t width = style->width > column + NAME_FLOOR ? style->width - column : NAME_FLOOR;

	if (!style->width || style->full)
		width = 0;
	if (row->culled)
		buf_text(buf, "[culled]");
	else if (by == BLOCK_GROUPS_THREAD)
		put_thread(buf, row->thread);
	else if (by == BLOCK_GROUPS_SIZE)
		buf_text(buf, format_size_class(row->smallest, row->largest).text);
	else if (by == BLOCK_GROUPS_MARK)
		put_mark(buf, style, row, width);
	else if (is_of_functions(by) && row->frame && row->frame->has_symbol)
		put_function(buf, style, row->frame, column);
	else
		frame_name_put_path(buf, style, row->name, width);
}

/* The rows to be shown, and what is said about them. */
struct listing {
	const struct style *style;
	const struct report_subject *subject;
	const struct breakdown_view *view;
	const struct breakdown_row **rows; /* owned */
	uint32_t count, shown;
};

static void listing_deinit(struct listing *listing)
{
	free(listing->rows);
}

static uint64_t sorted_value(const struct listing *listing, const struct breakdown_row *row)
{
	return metric_of_site(listing->view->metric,
			      listing->view->inclusive ? &row->inclusive : &row->own);
}

/* Collects the rows that have something, without code that every program runs before main. */
static struct err *collect(struct listing *listing)
{
	const struct breakdown_view *view = listing->view;

	listing->rows = malloc(((size_t)view->count + 1) * sizeof(struct breakdown_row *));
	if (!listing->rows)
		return err_no_memory();
	for (uint32_t i = 0; i < view->count; i++) {
		const struct breakdown_row *row = &view->rows[i];
		bool startup = is_of_functions(view->by) && row->frame &&
			       !metric_of_site(listing->view->metric, &row->own) &&
			       frame_text_is_startup(row->frame);

		if (sorted_value(listing, row) && (listing->style->full || !startup))
			listing->rows[listing->count++] = row;
	}
	listing->shown = listing->view->top && listing->view->top < listing->count
				 ? listing->view->top
				 : listing->count;
	return NULL;
}

static void put_title(struct buf *buf, const struct listing *listing)
{
	enum metric metric = listing->view->metric;

	style_printf(buf, listing->style, STYLE_STRONG, "%s %s %s%s by %s%s (%s)\n\n",
		     listing->shown < listing->count ? "Top" : "All",
		     format_count(listing->shown, true).text, block_groups_word(listing->view->by),
		     listing->shown == 1 ? "" : "s", listing->view->inclusive ? "inclusive " : "",
		     subject_metric(listing->subject, metric),
		     subject_metric_text(listing->subject, metric));
}

static void put_rest(struct buf *buf, const struct listing *listing)
{
	enum metric metric = listing->view->metric;
	bool exact = listing->style->exact;
	uint64_t rest = 0, whole;

	buf_printf(buf, "\n  \xe2\x80\xa6 %" PRIu32 " more", listing->count - listing->shown);
	for (uint32_t i = listing->shown; i < listing->count; i++)
		rest += sorted_value(listing, listing->rows[i]);
	whole = metric_of_sum(metric, recording_summary(listing->subject->recording));
	// Inclusive sums count the same allocations in several rows, so they do not add up.
	if (!listing->view->inclusive)
		buf_printf(buf, ", %s, %s of %s",
			   metric_info(metric)->bytes ? format_bytes(rest, exact).text
						      : format_counted(rest, "call", exact).text,
			   format_percent(rest, whole).text,
			   subject_metric(listing->subject, metric));
	buf_text(buf, " (--top N shows more)\n");
}

/* How many columns to keep for names, with the gap before them: as many as they need, or `most`. */
static size_t name_columns(const struct listing *listing, size_t most)
{
	enum block_groups_by by = listing->view->by;
	size_t columns = NAME_SHORT;

	for (uint32_t i = 0; i < listing->shown && columns < most; i++) {
		cleanup(buf_deinit) struct buf name = BUF_EMPTY;
		const struct named_frame *frame = listing->rows[i]->frame;
		size_t taken;

		if (is_of_functions(by) && frame && frame->has_symbol)
			frame_name_put_listed(&name, listing->style, frame, 0);
		else
			put_name(&name, listing->style, listing->rows[i], by, 0);
		taken = TEXT_TABLE_GAP + style_columns(name.data, name.size);
		if (taken > columns)
			columns = taken;
	}
	return columns < most ? columns : most;
}

/* Says which columns the lines have no room for. */
static void put_left_out(struct buf *buf, const struct style *style, const struct text_table *table)
{
	if (table->shown == table->columns)
		return;
	style_begin(buf, style, STYLE_DIM);
	buf_text(buf, "\n  no room for ");
	for (size_t i = table->shown; i < table->columns; i++)
		buf_printf(buf, "%s%s", i == table->shown ? "" : ", ", table->titles[i]);
	buf_text(buf, " (--width N)\n");
	style_end(buf, style);
}

static struct err *put_rows(struct buf *buf, const struct listing *listing)
{
	cleanup(text_table_deinit) struct text_table table = {0};
	const struct style *style = listing->style;
	size_t least = name_columns(listing, NAME_LONG), column;

	add_columns(&table, listing->subject, listing->view);
	for (uint32_t i = 0; i < listing->shown; i++)
		add_cells(&table, style, listing->subject, listing->view, listing->rows[i]);
	if (style->width && !style->full)
		text_table_narrow(&table, style->width > least ? style->width - least : 0,
				  style->width < TINY ? 2 : 3);
	column = text_table_width(&table) + TEXT_TABLE_GAP;
	text_table_titles(&table, buf, style);
	style_printf(buf, style, STYLE_DIM, "  %s\n", block_groups_word(listing->view->by));
	for (uint32_t i = 0; i < listing->shown; i++) {
		text_table_row(&table, buf, style, i);
		buf_repeat(buf, ' ', TEXT_TABLE_GAP);
		put_name(buf, style, listing->rows[i], listing->view->by, column);
		buf_char(buf, '\n');
	}
	put_left_out(buf, style, &table);
	return table.failed ? err_no_memory() : NULL;
}

/* Says that some functions have no names, and what to do about it. */
static void put_nameless(struct buf *buf, const struct listing *listing)
{
	for (uint32_t i = 0; i < listing->shown; i++) {
		const struct named_frame *frame = listing->rows[i]->frame;

		if (!is_of_functions(listing->view->by) || !frame || frame->has_symbol ||
		    !frame->module_name)
			continue;
		style_printf(buf, listing->style, STYLE_DIM,
			     "\nIn brackets are all functions of a module that have no name.\n"
			     "Debug packages, or a build that is not stripped, would name them.\n");
		return;
	}
}

struct err *breakdown_text_write(struct buf *buf, const struct style *style,
				 const struct report_subject *subject,
				 const struct breakdown_view *view)
{
	cleanup(listing_deinit) struct listing listing = {
		.style = style,
		.subject = subject,
		.view = view,
	};
	struct err *err = collect(&listing);

	if (err)
		return err;
	if (!listing.count) {
		buf_printf(buf, "No %s has any: %s is 0.\n", block_groups_word(view->by),
			   subject_metric(subject, view->metric));
		return NULL;
	}
	put_title(buf, &listing);
	err = put_rows(buf, &listing);
	if (!err && listing.shown < listing.count)
		put_rest(buf, &listing);
	if (!err)
		put_nameless(buf, &listing);
	return err;
}
