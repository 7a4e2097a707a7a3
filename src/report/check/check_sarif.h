/*
 * `mallow check` as SARIF 2.1.0, as code scanning reads it: check_report.h. A limit is a rule; a
 * result is a limit that is broken, at the place that has most of it.
 */
#ifndef MALLOW_REPORT_CHECK_CHECK_SARIF_H
#define MALLOW_REPORT_CHECK_CHECK_SARIF_H

#include "report/check/check_report.h"

void check_sarif_begin(struct check_report *report);
void check_sarif_add(struct check_report *report, const struct check_subject *subject);
void check_sarif_end(struct check_report *report);

#endif
