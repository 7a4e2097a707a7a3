#include "report/check/check_report.h"

static const struct check_writer *const writers[] = {
#define CHECK_FORMAT(NAME, name) [CHECK_##NAME] = &check_writer_##name,
#include "report/check/check_formats.def"
#undef CHECK_FORMAT
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
	if (writers[format]->begin)
		writers[format]->begin(report);
}

void check_report_add(struct check_report *report, const struct check_subject *subject)
{
	writers[report->format]->add(report, subject);
	report->subjects++;
}

void check_report_end(struct check_report *report)
{
	if (writers[report->format]->end)
		writers[report->format]->end(report);
}
