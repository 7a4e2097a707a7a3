/* A report of a core dump as JSON: what core_text.h has, with all sizes. */
#ifndef MALLOW_REPORT_JSON_CORE_JSON_H
#define MALLOW_REPORT_JSON_CORE_JSON_H

#include "hosted/json_writer.h"
#include "report/views/core_view.h"

struct err *core_json_write(struct json_writer *json, const struct core_view *view);

#endif
