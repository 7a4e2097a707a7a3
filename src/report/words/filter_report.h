/* What a report says about its filter. */
#ifndef MALLOW_REPORT_WORDS_FILTER_REPORT_H
#define MALLOW_REPORT_WORDS_FILTER_REPORT_H

#include "analysis/filter/filter.h"
#include "hosted/json_writer.h"
#include "report/words/style.h"

/* A filter, and how many allocations of one recording it matches. */
struct filter_report {
	const struct filter *filter;
	uint64_t matched, blocks; /* allocations: matched, of those recorded one by one */
};

/*
 * Writes a line: the conditions as typed, and how many allocations match. moment_said: alive_at is
 * left out, because another line says it.
 */
void filter_report_text(struct buf *buf, const struct style *style,
			const struct filter_report *report, bool moment_said);

/* Writes the fields "filter", "matched" and "matched_of" into the open object. */
void filter_report_json(struct json_writer *json, const struct filter_report *report);

#endif
