#include "report/text/text_table.h"

#include <assert.h>
#include <string.h>

void text_table_deinit(struct text_table *table)
{
	vec_deinit(&table->cells);
}

void text_table_column(struct text_table *table, const char *title, bool strong)
{
	assert(table->columns < TEXT_TABLE_COLUMNS && !table->cells.count);
	table->titles[table->columns] = title;
	table->strong[table->columns] = strong;
	table->widths[table->columns] = style_columns(title, strlen(title));
	table->shown = ++table->columns;
}

void text_table_cell(struct text_table *table, struct formatted text)
{
	size_t column = table->cells.count % table->columns;
	size_t width = style_columns(text.text, strlen(text.text));

	if (width > table->widths[column])
		table->widths[column] = width;
	table->failed |= !vec_push(&table->cells, text);
}

size_t text_table_width(const struct text_table *table)
{
	size_t width = 0;

	for (size_t i = 0; i < table->shown; i++)
		width += TEXT_TABLE_GAP + table->widths[i];
	return width;
}

void text_table_narrow(struct text_table *table, size_t width, size_t least)
{
	while (table->shown > least && text_table_width(table) > width)
		table->shown--;
}

void text_table_put(struct buf *buf, const char *text, size_t width)
{
	buf_repeat(buf, ' ', TEXT_TABLE_GAP + width - style_columns(text, strlen(text)));
	buf_text(buf, text);
}

void text_table_titles(const struct text_table *table, struct buf *buf, const struct style *style)
{
	style_begin(buf, style, STYLE_DIM);
	for (size_t i = 0; i < table->shown; i++)
		text_table_put(buf, table->titles[i], table->widths[i]);
	style_end(buf, style);
}

void text_table_row(const struct text_table *table, struct buf *buf, const struct style *style,
		    size_t row)
{
	const struct formatted *cells = table->cells.items + row * table->columns;

	for (size_t i = 0; !table->failed && i < table->shown; i++) {
		if (table->strong[i])
			style_begin(buf, style, STYLE_STRONG);
		text_table_put(buf, cells[i].text, table->widths[i]);
		if (table->strong[i])
			style_end(buf, style);
	}
}
