/* `mallow report --histogram --json`. */
#ifndef MALLOW_REPORT_JSON_HISTOGRAM_JSON_H
#define MALLOW_REPORT_JSON_HISTOGRAM_JSON_H

#include "analysis/sums/histogram.h"
#include "hosted/json_writer.h"

/*
 * Writes the fields "histogram" and "classes", and the sums that are in no class, into the open
 * object.
 */
void histogram_json_write(struct json_writer *json, const struct histogram *histogram);

#endif
