/*
 * What is live now as metrics for Prometheus: its text format, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). Numbers of functions are bounded:
 * each function that allocates is a series of its own for whoever stores them.
 */
#ifndef MALLOW_REPORT_EXPORT_PROMETHEUS_H
#define MALLOW_REPORT_EXPORT_PROMETHEUS_H

#include "analysis/names/symbolized.h"
#include "hosted/buf.h"

#define PROMETHEUS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define PROMETHEUS_FUNCTIONS    20 /* that are named; the rest is "(others)" */

/* What the recording does not say. */
struct prometheus_facts {
	uint64_t processes; /* how many it is of */
	uint64_t resident;  /* bytes of these processes; 0: not known */
	/* Of processes that have ended: their allocations, which counters must not forget. */
	uint64_t ended_calls, ended_bytes;
};

/* recording: its sums at the end are what is live. symbolized: its names. */
struct err *prometheus_write(struct buf *buf, const struct recording *recording,
			     struct symbolized *symbolized, const struct prometheus_facts *facts);

#endif
