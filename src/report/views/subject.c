#include "report/views/subject.h"

#include <string.h>

#include "analysis/aggregate/aggregate.h"
#include "report/words/format.h"

void filter_report_text(struct buf *buf, const struct style *style,
			const struct filter_report *report, bool moment_said)
{
	const char *separator = "  only ";
	size_t count;
	const struct filter_parameter *parameters = filter_parameters(&count);

	for (size_t i = 0; i < count; i++) {
		const char *value = filter_value(report->filter, i);

		if (!value || (moment_said && strcmp(parameters[i].name, "alive_at") == 0))
			continue;
		buf_printf(buf, "%s%s=", separator, parameters[i].name);
		style_safe_text(buf, value, strlen(value));
		separator = ", ";
	}
	// The moment is the only condition: the summary says what it comes to.
	if (*separator == ' ')
		return;
	if (!report->blocks) {
		buf_char(buf, '\n'); // an aggregate may not know them
		return;
	}
	buf_printf(buf, ": %s of %s", format_count(report->matched, style->exact).text,
		   format_counted(report->blocks, "allocation", style->exact).text);
	if (report->matched && report->matched < report->blocks)
		buf_printf(buf, ", %s", format_percent(report->matched, report->blocks).text);
	buf_char(buf, '\n');
}

void filter_report_json(struct json_writer *json, const struct filter_report *report)
{
	size_t count;
	const struct filter_parameter *parameters = filter_parameters(&count);

	json_field_object(json, "filter");
	for (size_t i = 0; i < count; i++)
		if (filter_value(report->filter, i))
			json_field_text(json, parameters[i].name, filter_value(report->filter, i));
	json_end(json);
	json_field_u64(json, "matched", report->matched);
	json_field_u64(json, "matched_of", report->blocks);
}

bool subject_is_moment(const struct report_subject *subject)
{
	return subject->moment || aggregate_is_dump(recording_facts(subject->recording));
}

const char *subject_metric(const struct report_subject *subject, enum metric metric)
{
	return subject_is_moment(subject) && metric == METRIC_PEAK ? "live"
								   : metric_info(metric)->name;
}

const char *subject_metric_text(const struct report_subject *subject, enum metric metric)
{
	return subject_is_moment(subject) && metric == METRIC_PEAK ? "bytes live at that moment"
								   : metric_info(metric)->text;
}
