/* What a report says of the filter that it is of. */
#ifndef MALLOW_REPORT_FILTER_REPORT_H
#define MALLOW_REPORT_FILTER_REPORT_H

#include "analysis/filter/filter.h"
#include "hosted/json_writer.h"
#include "report/style.h"

/* What was asked for, and what it came to in one recording. */
struct filter_report {
	const struct filter *filter;
	uint64_t matched, blocks; /* allocations, of how many that were recorded one by one */
};

/* A line: the conditions as typed, and how many match. moment_said: alive_at has a line of its own.
 */
void filter_report_text(struct buf *buf, const struct style *style,
			const struct filter_report *report, bool moment_said);

/* The fields "filter", "matched" and "matched_of", in the object that is open. */
void filter_report_json(struct json_writer *json, const struct filter_report *report);

#endif
