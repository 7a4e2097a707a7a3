/* A report of outstanding allocations as JSON: one object a report, on one line. */
#ifndef MALLOW_REPORT_JSON_MEMLEAK_JSON_H
#define MALLOW_REPORT_JSON_MEMLEAK_JSON_H

#include "hosted/buf.h"
#include "report/views/memleak_view.h"

void memleak_json_write(struct buf *buf, const struct memleak_view *view);

#endif
