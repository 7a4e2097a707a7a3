/* `mallow report --mappings --json`: what the program mapped itself. */
#ifndef MALLOW_REPORT_JSON_MAPPINGS_JSON_H
#define MALLOW_REPORT_JSON_MAPPINGS_JSON_H

#include "analysis/sites/metric.h"
#include "analysis/views/map_sites.h"
#include "report/json/json_stacks.h"

/* Writes an object: sums by kind, and sites in descending order of the metric, top of them (0:
 * all). */
struct err *mappings_json_write(struct json_writer *json, struct json_stacks *stacks,
				const struct recording *recording, const struct map_sites *sites,
				enum metric metric, uint32_t top);

/* Writes the sums of a kind, as fields of the open object. */
void mappings_json_sum(struct json_writer *json, const struct map_sum *sum);

#endif
