/* `mallow report --histogram --csv`. */
#ifndef MALLOW_REPORT_CSV_HISTOGRAM_CSV_H
#define MALLOW_REPORT_CSV_HISTOGRAM_CSV_H

#include "analysis/breakdown/histogram.h"
#include "hosted/csv_writer.h"

/* The names of columns for the header row, parted by blanks. */
const char *histogram_csv_columns(enum histogram_of of);

/* The rows; path: of the recording, in a column in front, NULL: there is none. */
void histogram_csv_write(struct csv_writer *csv, const struct histogram *histogram,
			 const char *path);

#endif
