/* `mallow report --json`: the recording in numbers, and its sites with their stacks. */
#ifndef MALLOW_REPORT_JSON_JSON_REPORT_H
#define MALLOW_REPORT_JSON_JSON_REPORT_H

#include "analysis/sums/histogram.h"
#include "hosted/json_writer.h"
#include "report/json/json_stacks.h"
#include "report/views/breakdown_view.h"

/*
 * Writes one object. Sites are in descending order of the metric, top of them (0: all, also those
 * whose metric is 0).
 */
struct err *json_report_write(struct json_writer *json, struct json_stacks *stacks,
			      const struct report_subject *subject, enum metric metric,
			      uint32_t top);

/* Writes the fields that say what the report is about, and its sums, into the open object. */
void json_report_subject(struct json_writer *json, const struct report_subject *subject);

/*
 * Writes the fields "site_count" and "sites" into the open object: sites in descending order of the
 * metric, top of them (0: all), each with its sums and stack.
 */
struct err *json_report_sites(struct json_writer *json, struct json_stacks *stacks,
			      const struct site *sites, uint32_t site_count, enum metric metric,
			      uint32_t top);

/* Writes the sums of one or several sites, without the own peak, into the open object. */
void json_report_site_sums(struct json_writer *json, const struct site *sum);

/*
 * Writes the field "known" into the open object: the metrics that an aggregate has; null: all are
 * known.
 */
void json_report_known(struct json_writer *json, const struct recording_facts *facts);

/* Writes the fields of a recording's sums into the open object. */
void json_report_sums(struct json_writer *json, const struct recording_summary *sum);

/* Writes the fields that say which recording it is, and whether it is complete. */
void json_report_identity(struct json_writer *json, const struct recording_facts *facts);

/* `--by`: writes the fields "by", "row_count" and "rows" into the open object. */
void json_report_breakdown(struct json_writer *json, const struct breakdown_view *view);

/*
 * `--histogram`: writes the fields "histogram" and "classes", and the sums that are in no class,
 * into the open object.
 */
void json_report_histogram(struct json_writer *json, const struct histogram *histogram);

#endif
