/* `mallow report --pools --json`. */
#ifndef MALLOW_REPORT_JSON_POOLS_JSON_H
#define MALLOW_REPORT_JSON_POOLS_JSON_H

#include "analysis/sites/metric.h"
#include "report/json/json_stacks.h"

/*
 * Writes one object: top pools in descending order of the metric, each with top of its sites; 0:
 * all.
 */
struct err *pools_json_write(struct json_writer *json, struct json_stacks *stacks,
			     const struct recording *recording, enum metric metric, uint32_t top);

/* Writes the fields that say which pool it is. */
void pools_json_name(struct json_writer *json, const struct recorded_pool *pool);

#endif
