/* `mallow report --histogram --json`. */
#ifndef MALLOW_REPORT_JSON_HISTOGRAM_JSON_H
#define MALLOW_REPORT_JSON_HISTOGRAM_JSON_H

#include "analysis/breakdown/histogram.h"
#include "hosted/json_writer.h"

/* The fields "histogram", "classes" and the sums in no class, in the object that is open. */
void histogram_json_write(struct json_writer *json, const struct histogram *histogram);

#endif
