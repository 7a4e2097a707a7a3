#include "report/views/subject.h"

const char *subject_metric(const struct report_subject *subject, enum metric metric)
{
	return subject->moment && metric == METRIC_PEAK ? "live" : metric_info(metric)->name;
}

const char *subject_metric_text(const struct report_subject *subject, enum metric metric)
{
	return subject->moment && metric == METRIC_PEAK ? "bytes live at that moment"
							: metric_info(metric)->text;
}
