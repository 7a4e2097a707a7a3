#include "report/csv/rows_csv.h"

/* Writes a number as the database has it, which may be larger than 64 bits. */
static void put_number(struct csv_writer *csv, const char *text)
{
	csv_begin(csv, false);
	buf_text(csv->buf, text);
	csv_end(csv, false);
}

void rows_csv_write(struct csv_writer *csv, struct sql_rows *rows)
{
	for (size_t column = 0; column < sql_rows_columns(rows); column++)
		csv_text(csv, sql_rows_name(rows, column));
	if (csv->in_row)
		csv_end_row(csv);
	for (size_t row = 0; row < sql_rows_count(rows); row++) {
		for (size_t column = 0; column < sql_rows_columns(rows); column++) {
			const char *text = sql_rows_cell(rows, column, row);

			if (text && sql_rows_kind(rows, column) == SQL_NUMBER)
				put_number(csv, text);
			else
				csv_text(csv, text);
		}
		csv_end_row(csv);
	}
}
