/* The work of `mallow report`: opens recordings and writes what is wanted. */
#ifndef MALLOW_CLI_REPORT_REPORT_WRITER_H
#define MALLOW_CLI_REPORT_REPORT_WRITER_H

#include "analysis/sums/histogram.h"
#include "analysis/leaks/suppressions.h"
#include "analysis/sites/metric.h"
#include "cli/recordings/recording_paths.h"
#include "report/views/breakdown_view.h"
#include "report/words/style.h"

enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_CSV };

enum report_view {
	REPORT_SITES,
	REPORT_TREE,
	REPORT_BREAKDOWN,
	REPORT_HISTOGRAM,
	REPORT_ERRORS,
	REPORT_POOLS,
	REPORT_MAPPINGS,
};

struct report_wanted {
	enum report_format format;
	bool csv_raw; /* texts of CSV stay as they are */
	enum report_view view;
	enum metric metric;
	bool metric_asked;           /* by the user */
	enum block_groups_by by;     /* REPORT_BREAKDOWN */
	bool inclusive;              /* … by inclusive sums */
	enum histogram_of histogram; /* REPORT_HISTOGRAM */
	uint32_t top;                /* how many sites or rows are shown; 0: all */
	uint32_t pool_sites;         /* how many sites of each pool are shown */
	bool merge;
	struct style style;          /* of REPORT_TEXT, without names */
	bool inline_stacks;          /* REPORT_JSON: struct json_stacks */
	const struct filter *filter; /* may be empty; with a moment: what was live then */
	struct suppressions *leaks;  /* leaks that are not counted; NULL: all are */
	bool page;                   /* sites in text: as much as a page holds */
	struct naming naming;        /* for the names of all recordings */
};

/*
 * Writes a report of each recording, or one of all together. Returns the exit status; errors were
 * printed.
 */
int report_writer_run(const struct report_wanted *wanted, const struct recording_paths *paths);

#endif
