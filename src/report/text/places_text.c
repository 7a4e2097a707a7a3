#include "report/text/places_text.h"

#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "report/names/distinct_names.h"
#include "report/words/format.h"
#include "report/names/frame_name.h"
#include "report/text/site_text.h"

#define VALUE_COLUMNS 8
#define SHARE_COLUMNS 6
#define CURVE_COLUMNS 8 /* the end of each eighth of the run */
#define CURVE_TITLE   "over run"
#define CURVE_LEAST   72 /* narrower lines have none */
#define GAP           2
#define NAMES_LEAST   20 /* columns for both names, however narrow the terminal is */
#define BY_TITLE      "allocated by"

/* What a name is cut to, in columns. */
struct names_columns {
	size_t by, what;
};

static uint32_t row_count(const struct places_text *text)
{
	return text->rows < text->places->count ? text->rows : text->places->count;
}

uint32_t places_text_lines(const struct places_text *text)
{
	uint32_t rows = row_count(text);

	return 1 + rows + (rows < text->places->count);
}

/* Writes where a frame is: "file.c:12"; short: ":12"; without a file its module. */
static void put_place(struct buf *buf, const struct named_frame *frame, bool brief)
{
	if (frame->file && frame->line && brief) {
		buf_printf(buf, ":%u", frame->line);
	} else if (frame->file) {
		const char *file = named_frame_file_name(frame);

		style_safe_text(buf, file, strlen(file));
		if (frame->line)
			buf_printf(buf, ":%u", frame->line);
	} else if (frame->module_name && frame->has_symbol && !frame->in_program) {
		buf_char(buf, '[');
		style_safe_text(buf, frame->module_name, strlen(frame->module_name));
		buf_char(buf, ']');
	}
}

/* A name and its place, in columns. */
struct cell {
	struct buf name, place;
};

static void cell_deinit(struct cell *cell)
{
	buf_deinit(&cell->name);
	buf_deinit(&cell->place);
}

static size_t columns_of(const struct buf *buf)
{
	return style_columns(buf->data, buf->size);
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

enum with { NAME_ALONE, WITH_LINE, WITH_PLACE };

/* How many columns a frame takes. */
static size_t natural(const struct style *style, const struct named_frame *frame, enum with with)
{
	cleanup(cell_deinit) struct cell cell = {BUF_EMPTY, BUF_EMPTY};

	if (!frame)
		return 0;
	frame_name_put(&cell.name, style, frame, 0);
	if (with != NAME_ALONE)
		put_place(&cell.place, frame, with == WITH_LINE);
	return columns_of(&cell.name) + (cell.place.size ? GAP + columns_of(&cell.place) : 0);
}

/*
 * Whether rows have a curve, which is of live bytes: beside sums of these, if the lines have room.
 */
static bool has_curves(const struct style *style, const struct places_text *text)
{
	bool of_live = text->metric == METRIC_PEAK || text->metric == METRIC_LEAKED;

	return text->facts && of_live && (!style->width || style->width >= CURVE_LEAST);
}

/* How many columns the names need. */
static struct names_columns needed(const struct style *style, const struct places_text *text,
				   enum with with)
{
	struct names_columns need = {strlen(BY_TITLE), 0};

	for (uint32_t i = 0; i < row_count(text); i++) {
		const struct own_code *code = &text->places->items[i].code;

		need.by = larger(need.by, natural(style, code->frame, with));
		need.what = larger(need.what, natural(style, code->call, NAME_ALONE));
	}
	return need;
}

/* Shares the columns that numbers leave, by what the rows need. Files go before names are cut. */
static struct names_columns names_columns(const struct style *style, const struct places_text *text)
{
	size_t taken = GAP + VALUE_COLUMNS + GAP + SHARE_COLUMNS + GAP +
		       (has_curves(style, text) ? CURVE_COLUMNS + GAP : 0);
	size_t left = style->width > taken + NAMES_LEAST ? style->width - taken : NAMES_LEAST;
	struct names_columns need = needed(style, text, WITH_PLACE);

	left -= GAP;
	if (!style->width || need.by + need.what <= left)
		return need;
	if (need.by <= left * 5 / 9)
		return (struct names_columns){need.by, left - need.by};
	need = needed(style, text, WITH_LINE);
	if (need.by + need.what <= left || need.what <= left * 4 / 9)
		return (struct names_columns){left - need.what, need.what};
	if (need.by <= left * 5 / 9)
		return (struct names_columns){need.by, left - need.by};
	return (struct names_columns){left * 5 / 9, left - left * 5 / 9};
}

/* Whether the cell may stand for that frame, and for no other. */
static bool is_distinct(struct cell *cell, const struct style *style,
			const struct named_frame *frame)
{
	cleanup(buf_deinit) struct buf text = BUF_EMPTY, key = BUF_EMPTY;

	buf_put(&text, cell->name.data, cell->name.size);
	buf_text(&text, "  ");
	buf_put(&text, cell->place.data, cell->place.size);
	buf_printf(&key, "%s\n%s:%u\n%s", frame->function, frame->file ? frame->file : "",
		   frame->line, frame->module ? frame->module : "");
	return !buf_string(&text) || !buf_string(&key) ||
	       distinct_names_claim(style->names, buf_string(&text), buf_string(&key));
}

/*
 * Fills a cell of so many columns: the file goes if there is no room for it, then the name is cut.
 * brief: the file may go.
 */
static void fill(struct cell *cell, const struct style *style, const struct named_frame *frame,
		 size_t columns, bool brief)
{
	size_t place;

	cell->name.size = cell->place.size = 0;
	put_place(&cell->place, frame, false);
	frame_name_put(&cell->name, style, frame, 0);
	if (columns_of(&cell->name) + GAP + columns_of(&cell->place) <= columns)
		return;
	if (brief && frame->file && frame->line) {
		cell->place.size = 0;
		put_place(&cell->place, frame, true);
	}
	place = columns_of(&cell->place);
	if (place > columns / 2)
		cell->place.size = place = 0;
	place += place ? GAP : 0;
	if (columns_of(&cell->name) + place <= columns)
		return;
	cell->name.size = 0;
	frame_name_put(&cell->name, style, frame, columns - place);
}

static void put_cell(struct buf *buf, const struct style *style, const struct named_frame *frame,
		     size_t columns, bool last)
{
	cleanup(cell_deinit) struct cell cell = {BUF_EMPTY, BUF_EMPTY};
	size_t taken;

	fill(&cell, style, frame, columns, true);
	if (!is_distinct(&cell, style, frame))
		fill(&cell, style, frame, columns, false);
	taken = columns_of(&cell.name);
	style_begin(buf, style, STYLE_NAME);
	buf_put(buf, cell.name.data, cell.name.size);
	style_end(buf, style);
	if (cell.place.size) {
		buf_repeat(buf, ' ', GAP);
		style_begin(buf, style, STYLE_DIM);
		buf_put(buf, cell.place.data, cell.place.size);
		style_end(buf, style);
		taken += GAP + columns_of(&cell.place);
	}
	if (!last && taken < columns)
		buf_repeat(buf, ' ', columns - taken);
}

static struct formatted value_of(enum metric metric, uint64_t value, bool exact)
{
	return metric_info(metric)->bytes ? format_bytes(value, exact) : format_count(value, exact);
}

/* Writes how the live bytes of a place went over the run, as bars; nothing is live at a blank. */
static void put_curve(struct buf *buf, const struct places_text *text, const struct place *place)
{
	static const char *const bars[] = {
		" ",
		"\xe2\x96\x81",
		"\xe2\x96\x82",
		"\xe2\x96\x83",
		"\xe2\x96\x84",
		"\xe2\x96\x85",
		"\xe2\x96\x86",
		"\xe2\x96\x87",
		"\xe2\x96\x88",
	};
	uint64_t live[CURVE_COLUMNS] = {0}, most = 1;

	for (size_t i = 0; i < CURVE_COLUMNS; i++) {
		size_t point = (i + 1) * FACTS_POINTS / CURVE_COLUMNS - 1;

		for (uint32_t k = 0; k < place->count; k++)
			live[i] += text->facts[text->places->sites[place->first + k]].live[point];
		most = larger(most, live[i]);
	}
	for (size_t i = 0; i < CURVE_COLUMNS; i++)
		buf_text(buf,
			 bars[live[i] ? 1 + (uint64_t)((double)live[i] / (double)most * 7) : 0]);
	buf_repeat(buf, ' ', GAP);
}

static void put_row(struct buf *buf, const struct style *style, const struct places_text *text,
		    const struct place *place, struct names_columns columns)
{
	uint64_t whole = metric_of_sum(text->metric, recording_summary(text->subject->recording));
	uint64_t value = metric_of_site(text->metric, &place->sum);

	buf_repeat(buf, ' ', GAP);
	style_printf(buf, style, STYLE_STRONG, "%*s", VALUE_COLUMNS,
		     value_of(text->metric, value, style->exact).text);
	buf_printf(buf, "  %*s  ", SHARE_COLUMNS, format_percent(value, whole).text);
	if (has_curves(style, text))
		put_curve(buf, text, place);
	if (!place->code.frame) {
		buf_text(buf, "[no stack]\n");
		return;
	}
	put_cell(buf, style, place->code.frame, columns.by, !place->code.call);
	if (place->code.call) {
		buf_repeat(buf, ' ', GAP);
		style_begin(buf, style, STYLE_DIM);
		frame_name_put(buf, style, place->code.call, columns.what);
		style_end(buf, style);
	}
	buf_char(buf, '\n');
}

static void put_titles(struct buf *buf, const struct style *style, const struct places_text *text,
		       struct names_columns columns)
{
	static const char *const titles[] = {
		[METRIC_PEAK] = "At the peak",          [METRIC_LEAKED] = "Never freed",
		[METRIC_TOTAL] = "Bytes in all",        [METRIC_CALLS] = "Calls",
		[METRIC_TEMPORARY] = "Temporary calls",
	};
	bool then = subject_is_moment(text->subject) && text->metric == METRIC_PEAK;

	style_printf(buf, style, STYLE_STRONG, "%-*s", GAP + VALUE_COLUMNS + GAP + SHARE_COLUMNS,
		     then ? "Live then" : titles[text->metric]);
	if (has_curves(style, text))
		style_printf(buf, style, STYLE_DIM, "  " CURVE_TITLE);
	style_printf(buf, style, STYLE_DIM, "  %-*s", columns.what ? (int)columns.by : 0, BY_TITLE);
	style_printf(buf, style, STYLE_DIM, columns.what ? "  what for\n" : "\n");
}

/* Writes how many places are not in the table, and what they have together. */
static void put_rest(struct buf *buf, const struct style *style, const struct places_text *text)
{
	const struct places *places = text->places;
	uint64_t whole = metric_of_sum(text->metric, recording_summary(text->subject->recording));
	uint32_t shown = row_count(text);
	uint64_t rest = 0;

	if (shown == places->count)
		return;
	for (uint32_t i = shown; i < places->count; i++)
		rest += metric_of_site(text->metric, &places->items[i].sum);
	buf_printf(buf, "  \xe2\x80\xa6 %s more, %s, %s of all (--top N)\n",
		   format_counted(places->count - shown, "place", true).text,
		   value_of(text->metric, rest, style->exact).text,
		   format_percent(rest, whole).text);
}

struct err *places_text_table(struct buf *buf, const struct style *style,
			      const struct places_text *text)
{
	struct names_columns columns = names_columns(style, text);

	put_titles(buf, style, text, columns);
	for (uint32_t i = 0; i < row_count(text); i++)
		put_row(buf, style, text, &text->places->items[i], columns);
	put_rest(buf, style, text);
	return NULL;
}

struct err *places_text_stacks(struct buf *buf, const struct style *style,
			       const struct places_text *text)
{
	const struct recording *recording = text->subject->recording;
	struct site_text site = {
		.of_moment = subject_is_moment(text->subject),
		.metric = text->metric,
		.whole = metric_of_sum(text->metric, recording_summary(recording)),
		.lines = text->lines,
		.named = text->named,
	};
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < text->stacks && i < text->places->count; i++)
		err = site_text_one(buf, style, recording, text->subject->symbolized, &site,
				    &text->places->items[i].sum, i + 1);
	return err;
}
