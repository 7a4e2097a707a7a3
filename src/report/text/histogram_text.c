#include "report/text/histogram_text.h"

#include <string.h>

#include "report/words/format.h"
#include "report/text/text_table.h"

#define BAR_MOST    24 /* columns of a bar if there is no terminal */
#define BAR_LEAST   8
#define EIGHTHS     8
#define GAP         1 /* between a number and its bar */
#define EMPTY_SHOWN 2 /* more empty classes in a row become one line */
#define CALLS       "allocations"
#define BYTES       "bytes"

static struct formatted class_name(const struct histogram *histogram, size_t class)
{
	uint64_t lowest = scale_lowest(&histogram->scale, class);
	uint64_t highest = histogram->scale.highest[class];

	return histogram->of == HISTOGRAM_SIZE ? format_size_class(lowest, highest)
					       : format_time_class(lowest, highest);
}

/* A row: its name and its sums. sum NULL: it stands for several empty classes. */
struct row {
	struct formatted name;
	const struct histogram_sum *sum;
};

struct rows {
	struct row items[SCALE_CLASSES + 2];
	size_t count;
	struct histogram_sum most; /* the values of the longest bars */
};

static void add_row(struct rows *rows, struct formatted name, const struct histogram_sum *sum)
{
	rows->items[rows->count++] = (struct row){name, sum};
	if (sum->calls > rows->most.calls)
		rows->most.calls = sum->calls;
	if (sum->bytes > rows->most.bytes)
		rows->most.bytes = sum->bytes;
}

/* How many classes from this one on are empty. */
static size_t empty_from(const struct histogram *histogram, size_t class)
{
	size_t count = 0;

	while (class + count < histogram->end && !histogram->classes[class + count].calls)
		count++;
	return count;
}

static void collect(const struct histogram *histogram, struct rows *rows)
{
	for (size_t i = histogram->first; i < histogram->end; i++) {
		size_t empty = empty_from(histogram, i);

		if (empty > EMPTY_SHOWN) {
			rows->items[rows->count++] = (struct row){.sum = NULL};
			i += empty - 1;
		} else {
			add_row(rows, class_name(histogram, i), &histogram->classes[i]);
		}
	}
	if (histogram->culled.calls)
		add_row(rows, format_word("culled"), &histogram->culled);
	if (histogram->leaked.calls)
		add_row(rows, format_word("leaked"), &histogram->leaked);
}

/*
 * Draws a bar for value, where `most` would take all columns, in eighths of a column: at least one
 * eighth unless value is 0. Returns how many columns it takes.
 */
static size_t put_bar(struct buf *buf, const struct style *style, uint64_t value, uint64_t most,
		      size_t columns)
{
	static const char *const blocks[EIGHTHS + 1] = {"",
							"\xe2\x96\x8f",
							"\xe2\x96\x8e",
							"\xe2\x96\x8d",
							"\xe2\x96\x8c",
							"\xe2\x96\x8b",
							"\xe2\x96\x8a",
							"\xe2\x96\x89",
							"\xe2\x96\x88"};
	size_t eighths =
		(size_t)((double)value / (double)(most ? most : 1) * (double)(columns * EIGHTHS));

	if (value && !eighths)
		eighths = 1;
	style_begin(buf, style, STYLE_NAME);
	for (size_t i = 0; i < eighths / EIGHTHS; i++)
		buf_text(buf, blocks[EIGHTHS]);
	buf_text(buf, blocks[eighths % EIGHTHS]);
	style_end(buf, style);
	return (eighths + EIGHTHS - 1) / EIGHTHS;
}

/* How many columns each of the two bars gets, if `used` columns of a line are taken. */
static size_t bar_columns(const struct style *style, size_t used)
{
	size_t room;

	if (!style->width)
		return BAR_MOST;
	room = style->width > used ? (style->width - used) / 2 : 0;
	return room > BAR_MOST ? BAR_MOST : room < BAR_LEAST ? BAR_LEAST : room;
}

/* How many columns each part of a row takes. */
struct widths {
	size_t name, calls, bytes, bar;
};

static void widen(size_t *width, const char *text)
{
	size_t columns = style_columns(text, strlen(text));

	if (columns > *width)
		*width = columns;
}

static struct widths find_widths(const struct style *style, const struct rows *rows)
{
	struct widths widths = {.name = strlen("lived")};

	widen(&widths.calls, CALLS);
	widen(&widths.bytes, BYTES);
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->items[i];

		if (!row->sum)
			continue;
		widen(&widths.name, row->name.text);
		widen(&widths.calls, format_count(row->sum->calls, style->exact).text);
		widen(&widths.bytes, format_bytes(row->sum->bytes, style->exact).text);
	}
	widths.bar = bar_columns(style, widths.name + widths.calls + widths.bytes +
						3 * TEXT_TABLE_GAP + 2 * GAP);
	return widths;
}

static void put_row(struct buf *buf, const struct style *style, const struct rows *rows,
		    const struct row *row, const struct widths *widths)
{
	size_t drawn;

	if (!row->sum) {
		text_table_put(buf, "\xe2\x80\xa6\n", widths->name + 1);
		return;
	}
	text_table_put(buf, row->name.text, widths->name);
	text_table_put(buf, format_count(row->sum->calls, style->exact).text, widths->calls);
	buf_repeat(buf, ' ', GAP);
	drawn = put_bar(buf, style, row->sum->calls, rows->most.calls, widths->bar);
	buf_repeat(buf, ' ', widths->bar - drawn);
	text_table_put(buf, format_bytes(row->sum->bytes, style->exact).text, widths->bytes);
	if (row->sum->bytes)
		buf_repeat(buf, ' ', GAP);
	put_bar(buf, style, row->sum->bytes, rows->most.bytes, widths->bar);
	buf_char(buf, '\n');
}

struct err *histogram_text_write(struct buf *buf, const struct style *style,
				 const struct histogram *histogram)
{
	struct rows rows = {0};
	struct widths widths;

	collect(histogram, &rows);
	if (!rows.count) {
		buf_text(buf, "No allocations.\n");
		return NULL;
	}
	style_printf(buf, style, STYLE_STRONG, "%s by %s\n\n",
		     format_counted(histogram->all.calls, "allocation", style->exact).text,
		     histogram->of == HISTOGRAM_SIZE ? "size (as requested)"
						     : "lifetime (from malloc to free)");
	widths = find_widths(style, &rows);
	style_begin(buf, style, STYLE_DIM);
	text_table_put(buf, histogram->of == HISTOGRAM_SIZE ? "size" : "lived", widths.name);
	text_table_put(buf, CALLS, widths.calls);
	buf_repeat(buf, ' ', GAP + widths.bar);
	text_table_put(buf, BYTES, widths.bytes);
	style_end(buf, style);
	buf_char(buf, '\n');
	for (size_t i = 0; i < rows.count; i++)
		put_row(buf, style, &rows, &rows.items[i], &widths);
	return NULL;
}
