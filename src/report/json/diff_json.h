/* `mallow diff --json`: both recordings in numbers, and what changed. */
#ifndef MALLOW_REPORT_JSON_DIFF_JSON_H
#define MALLOW_REPORT_JSON_DIFF_JSON_H

#include "report/views/diff_view.h"
#include "report/json/json_stacks.h"

/* Writes one object. The only error: no memory. */
struct err *diff_json_write(struct json_writer *json, const struct diff_view *view);

#endif
