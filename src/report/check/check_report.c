#include "report/check/check_report.h"

#include "report/check/check_github.h"
#include "report/check/check_junit.h"
#include "report/check/check_sarif.h"
#include "report/check/check_text.h"

const char check_formats[] = "text junit sarif github";

/* begin and end may be NULL. */
static const struct {
	void (*begin)(struct check_report *report);
	void (*add)(struct check_report *report, const struct check_subject *subject);
	void (*end)(struct check_report *report);
} writers[] = {
	[CHECK_TEXT] = {NULL, check_text_add, NULL},
	[CHECK_JUNIT] = {check_junit_begin, check_junit_add, check_junit_end},
	[CHECK_SARIF] = {check_sarif_begin, check_sarif_add, check_sarif_end},
	[CHECK_GITHUB] = {NULL, check_github_add, NULL},
};

void check_report_begin(struct check_report *report, enum check_format format, struct buf *buf,
			const struct style *style, const struct check_about *about)
{
	*report = (struct check_report){
		.format = format,
		.buf = buf,
		.style = *style,
		.about = about,
	};
	if (writers[format].begin)
		writers[format].begin(report);
}

void check_report_add(struct check_report *report, const struct check_subject *subject)
{
	writers[report->format].add(report, subject);
	report->subjects++;
}

void check_report_end(struct check_report *report)
{
	if (writers[report->format].end)
		writers[report->format].end(report);
}
