/* `mallow report --by --json`: rows with all sums. */
#ifndef MALLOW_REPORT_JSON_BREAKDOWN_JSON_H
#define MALLOW_REPORT_JSON_BREAKDOWN_JSON_H

#include "hosted/json_writer.h"
#include "report/views/breakdown_view.h"

/* Writes the fields "by", "row_count" and "rows" into the open object. */
void breakdown_json_write(struct json_writer *json, const struct breakdown_view *view);

#endif
