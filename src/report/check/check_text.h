/* `mallow check` as a text for a terminal: check_report.h. */
#ifndef MALLOW_REPORT_CHECK_CHECK_TEXT_H
#define MALLOW_REPORT_CHECK_CHECK_TEXT_H

#include "report/check/check_report.h"

void check_text_add(struct check_report *report, const struct check_subject *subject);

#endif
