/* `mallow report --histogram`: how sizes or lifetimes are distributed, in each format. */
#ifndef MALLOW_REPORT_HISTOGRAM_VIEW_H
#define MALLOW_REPORT_HISTOGRAM_VIEW_H

#include "analysis/breakdown/histogram.h"
#include "hosted/csv_writer.h"
#include "hosted/json_writer.h"
#include "report/style.h"

/* A line for each class, with bars for how many allocations and how many bytes are in it. */
struct err *histogram_text_write(struct buf *buf, const struct style *style,
				 const struct histogram *histogram);

/* The fields "histogram", "classes" and the sums in no class, in the object that is open. */
void histogram_json_write(struct json_writer *json, const struct histogram *histogram);

/* The names of columns for the header row, parted by blanks. */
const char *histogram_csv_columns(enum histogram_of of);
/* The rows; path: of the recording, in a column in front, NULL: there is none. */
void histogram_csv_write(struct csv_writer *csv, const struct histogram *histogram,
			 const char *path);

#endif
