/* The formats of `mallow export`: exporters.def. */
#ifndef MALLOW_CLI_REPORT_EXPORTER_H
#define MALLOW_CLI_REPORT_EXPORTER_H

#include "analysis/diff/diff_tree.h"
#include "analysis/filter/filter.h"
#include "analysis/sites/metric.h"
#include "hosted/buf.h"
#include "server/page/html_file.h"

#define EXPORTER(name, ...) " " #name
/* " html flamegraph …": +1 skips the first space. */
static const char exporter_names[] =
#include "cli/report/exporters.def"
	;
#undef EXPORTER

/* A recording as one HTML file with the web interface in it: what `export` and `check` share. */
struct html_export {
	const char *path;               /* the recording */
	const char *const *debug_paths; /* as of struct catalog_options */
	struct source_options sources;
	const char *conditions; /* as of struct html_file_options */
	const char *check;      /* the same */
	uint64_t nodes;
	bool anonymous;
};

/* What is written. Of the format html, which reads the recording itself, only `html`. */
struct export_subject {
	const struct recording *recording;
	struct symbolized *symbolized;
	const struct filter_match *match; /* for formats that show blocks; NULL: all blocks */
	enum metric metric;
	enum tree_fold fold;
	const struct diff *diff; /* from the baseline; NULL: there is none */
	enum diff_show show;
	const char *moments[DIFF_SIDES]; /* of the diff, as typed; NULL: the whole run */
	bool exact;
	const struct html_export *html;
};

/* One format: its name, what it shows, and who writes it. */
struct exporter {
	const char *name;
	bool of_metric;  /* it shows one metric */
	bool compressed; /* the format is compressed already */
	bool binary;     /* it is not text for a terminal */
	bool of_blocks;  /* it shows blocks, which merged recordings do not have; false: sums */
	bool of_diffs;   /* it can show what changed */
	bool of_page;    /* it is the web interface: struct html_export */
	bool of_process; /* its addresses are those of one process */
	struct err *(*write)(struct buf *buf, const struct export_subject *subject);
};

/* typed: NULL if no format was given. NULL: there is no such format, and an error was printed. */
const struct exporter *exporter_find(const char *typed);

/* Writes into a file, as output_open() takes it; compressed if its name says so. */
struct err *exporter_write(const struct exporter *exporter, const char *path,
			   const struct export_subject *subject);

#endif
