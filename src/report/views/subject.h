/* What a report is about: the sums of a recording, and everything that is to be said about them. */
#ifndef MALLOW_REPORT_VIEWS_SUBJECT_H
#define MALLOW_REPORT_VIEWS_SUBJECT_H

#include "analysis/filter/filter.h"
#include "analysis/leaks/suppressed.h"
#include "analysis/process_list.h"
#include "analysis/sites/metric.h"
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

/* A moment: the recording is filtered by alive_at, so its sums are what was live then. */
struct report_moment {
	const char *typed;
	int64_t ns; /* since the recording's start */
};

/* A member that is NULL does not apply. */
struct report_subject {
	const struct recording *recording; /* its sums are shown */
	struct symbolized *symbolized;
	const struct process_list *processes; /* of merged recordings */
	const struct filter_report *filter;   /* the recording is filtered by it */
	const struct report_moment *moment;
	const struct suppressed *suppressed; /* the sums are without these leaks */
	/* For sums that are made of blocks: who has them, and those of the sums; bits NULL: all. */
	const struct recording *blocks;
	const uint64_t *bits;
};

/* Whether its sums are what was live at one moment: that, or all that an aggregate has. */
bool subject_is_moment(const struct report_subject *subject);

/*
 * A metric's name, and what it means. In a recording of a moment the metric "peak" is called and
 * explained as what was live then.
 */
const char *subject_metric(const struct report_subject *subject, enum metric metric);
const char *subject_metric_text(const struct report_subject *subject, enum metric metric);

#endif
