/* `mallow report --json`: the recording in numbers, and its sites with their stacks. */
#ifndef MALLOW_REPORT_JSON_JSON_REPORT_H
#define MALLOW_REPORT_JSON_JSON_REPORT_H

#include "hosted/json_writer.h"
#include "report/json/json_stacks.h"
#include "report/subject.h"

/* One object: sites by descending metric, top of them (0: all, also those whose metric is 0). */
struct err *json_report_write(struct json_writer *json, struct json_stacks *stacks,
			      const struct report_subject *subject, enum metric metric,
			      uint32_t top);

/* The fields that say what is reported of, with its sums, in the object that is open. */
void json_report_subject(struct json_writer *json, const struct report_subject *subject);

/*
 * The fields "site_count" and "sites", in the object that is open: by descending metric, top of
 * them (0: all), each with its sums and stack.
 */
struct err *json_report_sites(struct json_writer *json, struct json_stacks *stacks,
			      const struct site *sites, uint32_t site_count, enum metric metric,
			      uint32_t top);

/* The sums of a site, or of several, but its own peak: in the object that is open. */
void json_report_site_sums(struct json_writer *json, const struct site *sum);

/* The fields of sums, in the object that is open. */
void json_report_sums(struct json_writer *json, const struct recording_summary *sum);

/* Fields that say which recording it is, and whether all of it is there. */
void json_report_identity(struct json_writer *json, const struct recording_facts *facts);

#endif
