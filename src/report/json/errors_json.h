/* `mallow report --errors --json`. */
#ifndef MALLOW_REPORT_JSON_ERRORS_JSON_H
#define MALLOW_REPORT_JSON_ERRORS_JSON_H

#include "report/json/json_stacks.h"

/*
 * Writes one object. recording: opened with RECORDING_HEAP_ERRORS. top: how many kinds of errors
 * are written; 0: all.
 */
struct err *errors_json_write(struct json_writer *json, struct json_stacks *stacks,
			      const struct recording *recording, uint32_t top);

#endif
