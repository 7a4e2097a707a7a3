/* `mallow report --errors --json`. */
#ifndef MALLOW_REPORT_JSON_ERRORS_JSON_H
#define MALLOW_REPORT_JSON_ERRORS_JSON_H

#include "analysis/names/symbolized.h"
#include "hosted/json_writer.h"

/* One object. recording: opened with RECORDING_HEAP_ERRORS. */
struct err *errors_json_write(struct json_writer *json, const struct recording *recording,
			      struct symbolized *symbolized, uint32_t top);

#endif
