/*
 * What `mallow check` says, in one of its formats:
 *
 *	check_report_begin(&report, CHECK_TEXT, buf, &style, &about);
 *	check_report_add(&report, &subject);     // each recording
 *	check_report_end(&report);
 *
 * Failures to write stay in buf.
 */
#ifndef MALLOW_REPORT_CHECK_CHECK_REPORT_H
#define MALLOW_REPORT_CHECK_CHECK_REPORT_H

#include "hosted/json_writer.h"
#include "report/check/check_subject.h"
#include "report/words/style.h"

/* In the order of check_formats[]. */
enum check_format { CHECK_TEXT, CHECK_JUNIT, CHECK_SARIF, CHECK_GITHUB };

/* Their names, separated by spaces. */
extern const char check_formats[];

struct check_report {
	enum check_format format;
	struct buf *buf;
	struct style style; /* of a text */
	const struct check_about *about;
	struct json_writer json; /* of SARIF */
	uint64_t subjects;
};

/* about and buf must outlive the report. */
void check_report_begin(struct check_report *report, enum check_format format, struct buf *buf,
			const struct style *style, const struct check_about *about);
void check_report_add(struct check_report *report, const struct check_subject *subject);
void check_report_end(struct check_report *report);

#endif
