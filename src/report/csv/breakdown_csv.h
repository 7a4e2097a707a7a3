/* `mallow report --by --csv`: rows with all sums. */
#ifndef MALLOW_REPORT_CSV_BREAKDOWN_CSV_H
#define MALLOW_REPORT_CSV_BREAKDOWN_CSV_H

#include "hosted/csv_writer.h"
#include "report/views/breakdown_view.h"

/* The names of the columns for the header row, separated by blanks. */
const char *breakdown_csv_columns(enum block_groups_by by);

/* Writes the rows. path: the recording's, for a first column; NULL: without that column. */
void breakdown_csv_write(struct csv_writer *csv, const struct breakdown_view *view,
			 const char *path);

#endif
