#include "report/text/rows_text.h"

#include <string.h>

#include "hosted/cleanup.h"
#include "report/text/text_table.h"

#define NULL_TEXT  "NULL"
#define TEXT_LEAST 8 /* columns of the terminal that a text keeps */

/* Makes a cell, or a title, as it is shown. */
static void make_cell(struct buf *cell, const char *text)
{
	cell->size = 0;
	style_safe_text(cell, text ? text : NULL_TEXT, strlen(text ? text : NULL_TEXT));
}

static struct err *measure(struct sql_rows *rows, size_t *widths)
{
	cleanup(buf_deinit) struct buf cell = BUF_EMPTY;

	for (size_t column = 0; column < sql_rows_columns(rows); column++) {
		make_cell(&cell, sql_rows_name(rows, column));
		widths[column] = style_columns(cell.data, cell.size);
		for (size_t row = 0; row < sql_rows_count(rows); row++) {
			size_t width;

			make_cell(&cell, sql_rows_cell(rows, column, row));
			width = style_columns(cell.data, cell.size);
			if (width > widths[column])
				widths[column] = width;
		}
	}
	return buf_finish(&cell);
}

/* The column with the widest texts that can be cut; one beyond the last: there is none. */
static size_t find_widest(const struct sql_rows *rows, const size_t *widths, size_t count)
{
	size_t widest = count;

	for (size_t i = 0; i < count; i++)
		if (sql_rows_kind(rows, i) == SQL_TEXT && widths[i] > TEXT_LEAST &&
		    (widest == count || widths[i] > widths[widest]))
			widest = i;
	return widest;
}

/* Narrows the widest texts until a row fits. */
static void fit(const struct sql_rows *rows, size_t *widths, size_t count, size_t width)
{
	size_t all = 0, widest;

	for (size_t i = 0; i < count; i++)
		all += widths[i] + TEXT_TABLE_GAP;
	for (; all > width; all--) {
		widest = find_widest(rows, widths, count);
		if (widest == count)
			return;
		widths[widest]--;
	}
}

/* Writes the first columns of a text, with an ellipsis in the last one if there is more. */
static void put_cut(struct buf *buf, const struct buf *cell, size_t width)
{
	size_t end = 0, columns = 0;

	if (style_columns(cell->data, cell->size) <= width) {
		buf_append(buf, cell);
		return;
	}
	for (; end < cell->size; end++)
		if (((unsigned char)cell->data[end] & 0xc0) != 0x80 && columns++ == width - 1)
			break;
	buf_put(buf, cell->data, end);
	buf_text(buf, "…");
}

static void put_cell(struct buf *buf, struct sql_rows *rows, size_t column, size_t width,
		     struct buf *cell)
{
	size_t columns = style_columns(cell->data, cell->size);

	if (sql_rows_kind(rows, column) == SQL_NUMBER) {
		if (buf_string(cell))
			text_table_put(buf, cell->data, width);
		return;
	}
	buf_repeat(buf, ' ', TEXT_TABLE_GAP);
	put_cut(buf, cell, width);
	if (column + 1 < sql_rows_columns(rows) && columns < width)
		buf_repeat(buf, ' ', width - columns);
}

struct err *rows_text_write(struct buf *buf, const struct style *style, struct sql_rows *rows)
{
	size_t count = sql_rows_columns(rows);
	auto_free size_t *widths = calloc(count + 1, sizeof(*widths));
	cleanup(buf_deinit) struct buf cell = BUF_EMPTY;
	struct err *err = widths ? measure(rows, widths) : err_no_memory();

	if (err || !count)
		return err;
	if (style->width)
		fit(rows, widths, count, style->width);
	style_begin(buf, style, STYLE_DIM);
	for (size_t column = 0; column < count; column++) {
		make_cell(&cell, sql_rows_name(rows, column));
		put_cell(buf, rows, column, widths[column], &cell);
	}
	style_end(buf, style);
	buf_char(buf, '\n');
	for (size_t row = 0; row < sql_rows_count(rows); row++) {
		for (size_t column = 0; column < count; column++) {
			make_cell(&cell, sql_rows_cell(rows, column, row));
			put_cell(buf, rows, column, widths[column], &cell);
		}
		buf_char(buf, '\n');
	}
	return buf_finish(&cell);
}
