/* What a report is about: sums of a recording, and all that is to be said of what they are of. */
#ifndef MALLOW_REPORT_SUBJECT_H
#define MALLOW_REPORT_SUBJECT_H

#include "analysis/leaks/suppressed.h"
#include "analysis/process_list.h"
#include "analysis/sites/metric.h"
#include "report/filter_report.h"

/* What was live at a moment: the recording is filtered by alive_at. */
struct report_moment {
	const char *typed;
	int64_t ns; /* since the recording's start */
};

/* What is NULL does not apply. */
struct report_subject {
	const struct recording *recording; /* whose sums are shown */
	struct symbolized *symbolized;
	const struct process_list *processes; /* of merged recordings */
	const struct filter_report *filter;   /* that it is filtered by */
	const struct report_moment *moment;
	const struct suppressed *suppressed; /* leaks that its sums are without */
};

/*
 * How a metric is called, and what it is: what is the peak of blocks that were live at a moment is
 * what was live then.
 */
const char *subject_metric(const struct report_subject *subject, enum metric metric);
const char *subject_metric_text(const struct report_subject *subject, enum metric metric);

#endif
