/* The metrics of sites: one table for options, sort orders and flame graphs. */
#ifndef MALLOW_ANALYSIS_SITES_METRIC_H
#define MALLOW_ANALYSIS_SITES_METRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/recording.h"

enum metric {
#define METRIC(NAME, name, field, unit, text) METRIC_##NAME,
#include "analysis/sites/metric.def"
#undef METRIC
	METRIC_COUNT,
};

struct metric_info {
	const char *name; /* as typed: "peak" */
	const char *text; /* "share of the peak" */
	bool bytes;       /* it counts bytes; false: blocks or calls */
};

const struct metric_info *metric_info(enum metric metric);
uint64_t metric_of_site(enum metric metric, const struct site *site);
uint64_t metric_of_sum(enum metric metric, const struct recording_summary *sum);

#endif
