/* `mallow report --histogram --csv`. */
#ifndef MALLOW_REPORT_CSV_HISTOGRAM_CSV_H
#define MALLOW_REPORT_CSV_HISTOGRAM_CSV_H

#include "analysis/sums/histogram.h"
#include "hosted/csv_writer.h"

/* The names of the columns for the header row, separated by blanks. */
const char *histogram_csv_columns(enum histogram_of of);

/* Writes the rows. path: the recording's, for a first column; NULL: without that column. */
void histogram_csv_write(struct csv_writer *csv, const struct histogram *histogram,
			 const char *path);

#endif
