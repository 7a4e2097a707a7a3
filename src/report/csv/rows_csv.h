/* What a query of a database gives, as CSV. */
#ifndef MALLOW_REPORT_CSV_ROWS_CSV_H
#define MALLOW_REPORT_CSV_ROWS_CSV_H

#include "hosted/csv_writer.h"
#include "hosted/sql_database.h"

/* Writes a row of titles, and the rows. Null is an empty field. */
void rows_csv_write(struct csv_writer *csv, struct sql_rows *rows);

#endif
