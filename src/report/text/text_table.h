/*
 * A table of numbers. Each column is as wide as its widest cell. The caller writes what follows the
 * last column.
 *
 *	text_table_column(&table, "calls");
 *	text_table_cell(&table, format_count(5, false));    row by row
 *	text_table_titles(&table, buf, style);
 *	text_table_row(&table, buf, 0);
 */
#ifndef MALLOW_REPORT_TEXT_TEXT_TABLE_H
#define MALLOW_REPORT_TEXT_TEXT_TABLE_H

#include "hosted/vec.h"
#include "report/words/format.h"
#include "report/words/style.h"

#define TEXT_TABLE_COLUMNS 10
#define TEXT_TABLE_GAP     2 /* blanks between columns, and before the first */

/* Zeroed: empty. */
struct text_table {
	const char *titles[TEXT_TABLE_COLUMNS];
	size_t widths[TEXT_TABLE_COLUMNS];
	bool strong[TEXT_TABLE_COLUMNS];
	size_t columns; /* in each row of cells … */
	size_t shown;   /* … and how many of these are written */
	VEC(struct formatted) cells;
	bool failed; /* no memory */
};

void text_table_deinit(struct text_table *table);

/*
 * Adds a column; before the first cell. The title is borrowed. strong: cells are written in
 * STYLE_STRONG.
 */
void text_table_column(struct text_table *table, const char *title, bool strong);
void text_table_cell(struct text_table *table, struct formatted text);

/* Shows only as many columns as fit into width, but at least `least`. */
void text_table_narrow(struct text_table *table, size_t width, size_t least);
/* How many columns of the terminal a row takes. */
size_t text_table_width(const struct text_table *table);

/* Writes a text at the right end of width columns, with the gap before it. */
void text_table_put(struct buf *buf, const char *text, size_t width);

/* These write the titles, or a row, without a newline. */
void text_table_titles(const struct text_table *table, struct buf *buf, const struct style *style);
void text_table_row(const struct text_table *table, struct buf *buf, const struct style *style,
		    size_t row);

#endif
