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

/* Adds all of a site that can be added: not the own peak. */
static inline void metric_add_site(struct site *sum, const struct site *more)
{
	sum->calls += more->calls;
	sum->total_bytes += more->total_bytes;
	sum->peak_bytes += more->peak_bytes;
	sum->peak_blocks += more->peak_blocks;
	sum->leaked_bytes += more->leaked_bytes;
	sum->leaked_blocks += more->leaked_blocks;
	sum->temporary += more->temporary;
}

#endif
