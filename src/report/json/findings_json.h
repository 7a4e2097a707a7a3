/* The headline and the findings of a report in JSON: docs/report.schema.json. */
#ifndef MALLOW_REPORT_JSON_FINDINGS_JSON_H
#define MALLOW_REPORT_JSON_FINDINGS_JSON_H

#include "report/json/json_stacks.h"

/*
 * Writes the fields "headline" and "findings" into the open object, and "findings_missing" if some
 * could not be looked for.
 */
struct err *findings_json_write(struct json_writer *json, struct json_stacks *stacks,
				const struct recording *recording, struct symbolized *symbolized);

#endif
