/* `mallow diff --csv`: one row for each that changed, with its sums before and after. */
#ifndef MALLOW_REPORT_CSV_DIFF_CSV_H
#define MALLOW_REPORT_CSV_DIFF_CSV_H

#include "hosted/csv_writer.h"
#include "report/views/diff_view.h"

/* Writes the header and the rows. The only error: no memory. */
struct err *diff_csv_write(struct csv_writer *csv, const struct diff_view *view);

#endif
