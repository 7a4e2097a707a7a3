/*
 * An aggregate: a recording that has sums of stacks instead of events (docs/trace-format.md,
 * section 4.7), as other profilers make them. It has sites and a summary, but no blocks; at each of
 * its moments a site has sums:
 *
 *	moments   | 0 s        | 10 s            | 20 s        |     dumps, in order of time
 *	sums      | site 0 1 2 | site 0 1 2 3    | site 1 2 3  |
 *
 * What was allocated so far is that of the last moment. The peak is the file's; or, if the file
 * does not know it, the moment at which most was live.
 */
#ifndef MALLOW_ANALYSIS_AGGREGATE_AGGREGATE_H
#define MALLOW_ANALYSIS_AGGREGATE_AGGREGATE_H

#include "analysis/recording.h"
#include "analysis/sites/metric.h"

/* The sums of a site at a moment. */
struct aggregate_sum {
	uint32_t site; /* index in recording_sites() */
	uint64_t values[TRACE_SUMS];
};

struct aggregate_moment {
	uint64_t time_ns;
	uint64_t live_bytes, live_blocks; /* of all sites */
	size_t first, count;              /* in `sums` */
};

struct aggregate {
	uint32_t known; /* bits of enum trace_sum that the file has; others are 0, and not known */
	bool peak_is_live;                      /* the peak is that of the moments */
	const struct aggregate_moment *moments; /* at least one */
	size_t moment_count;
	const struct aggregate_sum *sums;
};

/* Whether a recording knows the metric: an aggregate may not. */
bool aggregate_knows(const struct recording_facts *facts, enum metric metric);

/* The metric that is shown if none is asked for: METRIC_PEAK, unless that is not known. */
enum metric aggregate_first_metric(const struct recording_facts *facts);

/*
 * Settles which metric is shown. asked: by the user; it is an error if the recording does not know
 * it, and the message says which it knows. Else *metric becomes one that it knows.
 */
struct err *aggregate_settle(const struct recording_facts *facts, bool asked, enum metric *metric);

/* Whether it is what was live at one moment, and nothing else is known of what was live. */
static inline bool aggregate_is_dump(const struct recording_facts *facts)
{
	return facts->aggregate && facts->aggregate->peak_is_live &&
	       facts->aggregate->moment_count == 1;
}

/* The last moment that is not later than this; NULL: there is none. */
const struct aggregate_moment *aggregate_at(const struct aggregate *aggregate, int64_t ns);

/*
 * A copy of an aggregate with some of its sites, as filtered_create(), and with their part of the
 * moments. sites: a byte for each, 1: it is kept; NULL: all are. moment: the copy is what was live
 * then, and knows no other moment; NULL: the sums stay.
 */
struct err *aggregate_filter(const struct recording *recording, const uint8_t *sites,
			     const struct aggregate_moment *moment, struct recording **ret);

#endif
