/*
 * `mallow check` as JUnit's XML, which CI servers show as tests: check_report.h. A recording is a
 * suite, a limit is a test.
 */
#ifndef MALLOW_REPORT_CHECK_CHECK_JUNIT_H
#define MALLOW_REPORT_CHECK_CHECK_JUNIT_H

#include "report/check/check_report.h"

void check_junit_begin(struct check_report *report);
void check_junit_add(struct check_report *report, const struct check_subject *subject);
void check_junit_end(struct check_report *report);

#endif
