/*
 * `mallow check` as annotations that GitHub's runners find in the output of a job: check_report.h.
 * What holds writes nothing.
 */
#ifndef MALLOW_REPORT_CHECK_CHECK_GITHUB_H
#define MALLOW_REPORT_CHECK_CHECK_GITHUB_H

#include "report/check/check_report.h"

void check_github_add(struct check_report *report, const struct check_subject *subject);

#endif
