#include "analysis/sites/metric.h"

#include <string.h>

static const struct metric_info infos[METRIC_COUNT] = {
#define METRIC(NAME, name, field, unit, text) [METRIC_##NAME] = {name, text, unit},
#include "analysis/sites/metric.def"
#undef METRIC
};

const struct metric_info *metric_info(enum metric metric)
{
	return &infos[metric];
}

uint64_t metric_of_site(enum metric metric, const struct site *site)
{
	switch (metric) {
#define METRIC(NAME, name, field, unit, text)                                                      \
	case METRIC_##NAME:                                                                        \
		return site->field;
#include "analysis/sites/metric.def"
#undef METRIC
	case METRIC_COUNT:
		break;
	}
	return 0;
}

uint64_t metric_of_sum(enum metric metric, const struct recording_summary *sum)
{
	switch (metric) {
#define METRIC(NAME, name, field, unit, text)                                                      \
	case METRIC_##NAME:                                                                        \
		return sum->field;
#include "analysis/sites/metric.def"
#undef METRIC
	case METRIC_COUNT:
		break;
	}
	return 0;
}
