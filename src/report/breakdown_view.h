/* `mallow report --by`: sums by function, file, module, thread or size, in each format. */
#ifndef MALLOW_REPORT_BREAKDOWN_VIEW_H
#define MALLOW_REPORT_BREAKDOWN_VIEW_H

#include "analysis/breakdown/breakdown.h"
#include "hosted/csv_writer.h"
#include "hosted/json_writer.h"
#include "report/subject.h"

struct breakdown_view {
	const struct breakdown *breakdown; /* sorted as this says */
	enum metric metric;
	bool inclusive; /* sorted by inclusive sums */
	uint32_t top;   /* rows shown, 0: all */
};

/* Those whose metric is not 0. The writing itself fails in buf. */
struct err *breakdown_text_write(struct buf *buf, const struct style *style,
				 const struct report_subject *subject,
				 const struct breakdown_view *view);

/* The fields "by", "row_count" and "rows", in the object that is open. */
void breakdown_json_write(struct json_writer *json, const struct breakdown_view *view);

/* The names of columns for the header row, parted by blanks. */
const char *breakdown_csv_columns(enum breakdown_by by);
/* The rows; path: of the recording, in a column in front, NULL: there is none. */
void breakdown_csv_write(struct csv_writer *csv, const struct breakdown_view *view,
			 const char *path);

#endif
