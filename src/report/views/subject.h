/* What a report is about: the sums of a recording, and everything that is to be said about them. */
#ifndef MALLOW_REPORT_VIEWS_SUBJECT_H
#define MALLOW_REPORT_VIEWS_SUBJECT_H

#include "analysis/leaks/suppressed.h"
#include "analysis/process_list.h"
#include "analysis/sites/metric.h"
#include "report/words/filter_report.h"

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
};

/*
 * A metric's name, and what it means. In a recording of a moment the metric "peak" is called and
 * explained as what was live then.
 */
const char *subject_metric(const struct report_subject *subject, enum metric metric);
const char *subject_metric_text(const struct report_subject *subject, enum metric metric);

#endif
