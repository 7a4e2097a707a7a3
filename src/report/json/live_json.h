/* A report of live allocations as one JSON object: docs/live.md names its fields. */
#ifndef MALLOW_REPORT_JSON_LIVE_JSON_H
#define MALLOW_REPORT_JSON_LIVE_JSON_H

#include "hosted/json_writer.h"
#include "report/views/live_view.h"

struct err *live_json_write(struct json_writer *json, const struct live_view *view);

#endif
