/*
 * The formats that a recording can be written in for other programs: the list of them,
 * exporters.def, as the command `export` and the server's routes below /export use it.
 */
#ifndef MALLOW_REPORT_EXPORT_EXPORT_FORMAT_H
#define MALLOW_REPORT_EXPORT_EXPORT_FORMAT_H

#include "analysis/diff/diff_tree.h"
#include "analysis/filter/filter.h"
#include "analysis/sites/metric.h"
#include "hosted/buf.h"

/* What is written. */
struct export_subject {
	const struct recording *recording; /* its sums; those of the blocks that a filter matches */
	const struct recording *blocks;    /* who has these blocks, if any are known … */
	const struct filter_match *match;  /* … and which of them match; NULL: all */
	struct symbolized *symbolized;     /* names of both */
	enum metric metric;
	bool metric_asked; /* by the user */
	enum tree_fold fold;
	const struct diff *diff; /* from the baseline; NULL: there is none */
	enum diff_show show;
	const char *moments[DIFF_SIDES]; /* of the diff, as typed; NULL: the whole run */
	bool exact;
	bool each_block;           /* csv: rows are blocks */
	uint64_t nodes;            /* --nodes */
	uint64_t samples;          /* --samples */
	const char *const *labels; /* "NAME=value", ended by NULL; NULL: none. For tables */
	/* In memory: gets a sentence for the user about what is not in the file; NULL: nobody asks.
	 */
	struct buf *note;
};

/* One format: its name, what it shows, and who writes it. */
struct export_format {
	const char *name;
	bool of_metric;   /* it shows one metric */
	bool of_stacks;   /* it can fold frames that are not own code */
	bool of_nodes;    /* it has at most --nodes of the stacks' frames */
	bool compressed;  /* the format is compressed already */
	bool binary;      /* it is not text for a terminal */
	bool of_blocks;   /* it shows blocks, which merged recordings do not have; false: sums */
	bool with_blocks; /* it shows sums, and more of them if blocks are known */
	bool of_diffs;    /* it can show what changed */
	bool of_page;     /* it is the web interface, which the server's room writes */
	bool of_process;  /* its addresses are those of one process */
	bool of_folder;   /* it is files in a folder: tables.h; they have labels */
	/* NULL: of_page or of_folder. An error: no memory, or the subject has not what the format
	 * is about. */
	struct err *(*write)(struct buf *buf, const struct export_subject *subject);
};

const struct export_format *export_formats(size_t *count);

/* NULL: there is no such format. */
const struct export_format *export_format_find(const char *name);

#endif
