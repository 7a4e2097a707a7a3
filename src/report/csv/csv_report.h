/* `mallow report --csv`: rows with sums, of sites or of what else is asked for. */
#ifndef MALLOW_REPORT_CSV_CSV_REPORT_H
#define MALLOW_REPORT_CSV_CSV_REPORT_H

#include "analysis/names/site_identity.h"
#include "analysis/sums/histogram.h"
#include "analysis/views/map_sites.h"
#include "hosted/csv_writer.h"
#include "report/views/breakdown_view.h"

/* The names of the columns that csv_report_sums() fills, separated by blanks. */
#define CSV_REPORT_SUMS                                                                            \
	"peak_bytes peak_blocks leaked_bytes leaked_blocks total_bytes calls temporary"

void csv_report_sums(struct csv_writer *csv, const struct site *sum);

/*
 * The columns of a stack. function, file, line and module are those of the innermost frame; stack
 * is all functions, innermost first, with ';' between them.
 */
#define CSV_REPORT_STACK "function file line module stack"
#define CSV_REPORT_SITES                                                                           \
	"own_peak_bytes " CSV_REPORT_SUMS " " CSV_REPORT_STACK " site_id shape_id weak_id"

/* What was written of frames, which many stacks have: each is made once. Zeroed: empty. */
struct csv_frames {
	struct csv_frame *frames; /* of the recording */
	struct buf text;
};

void csv_frames_deinit(struct csv_frames *frames);

/* Writes these columns. frames: of one recording, and one writer. */
struct err *csv_report_stack(struct csv_writer *csv, const struct report_subject *subject,
			     uint32_t node, struct csv_frames *frames);

/* Writes these columns without the stack. */
struct err *csv_report_frame(struct csv_writer *csv, const struct report_subject *subject,
			     uint32_t node, struct csv_frames *frames);

/*
 * Writes the sites in descending order of the metric, at most `top` of them (0: all). path: the
 * recording's, for a first column; NULL: without that column.
 */
struct err *csv_report_write(struct csv_writer *csv, const struct report_subject *subject,
			     const char *path, enum metric metric, uint32_t top);

/* `--by`: the names of the columns for the header row, separated by blanks; and the rows. */
const char *csv_report_breakdown_columns(enum block_groups_by by);
void csv_report_breakdown(struct csv_writer *csv, const struct breakdown_view *view,
			  const char *path);

/* `--histogram`: the same. */
const char *csv_report_histogram_columns(enum histogram_of of);
void csv_report_histogram(struct csv_writer *csv, const struct histogram *histogram,
			  const char *path);

#define CSV_REPORT_MAPPINGS                                                                        \
	"kind peak_bytes left_bytes left_mappings total_bytes mappings " CSV_REPORT_STACK

/* `--mappings`: a row for each stack by which the program mapped something. */
struct err *csv_report_mappings(struct csv_writer *csv, const struct report_subject *subject,
				const struct map_sites *sites, const char *path, enum metric metric,
				uint32_t top);

#endif
