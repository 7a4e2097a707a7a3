/* `mallow report --json`: the recording in numbers, and its sites with their stacks. */
#ifndef MALLOW_REPORT_JSON_REPORT_H
#define MALLOW_REPORT_JSON_REPORT_H

#include "analysis/metric.h"
#include "analysis/symbolized.h"
#include "hosted/buf.h"

/* Sites by descending metric, top of them (0: all, also those whose metric is 0). */
struct err *json_report_write(struct buf *buf, const struct recording *recording,
			      struct symbolized *symbolized, enum metric metric, uint32_t top);

#endif
