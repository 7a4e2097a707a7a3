/* `mallow report --csv`: one row for each site, with its sums and stack. */
#ifndef MALLOW_REPORT_CSV_CSV_REPORT_H
#define MALLOW_REPORT_CSV_CSV_REPORT_H

#include "hosted/csv_writer.h"
#include "report/views/subject.h"

/* The names of the columns that csv_report_sums() fills, separated by blanks. */
#define CSV_REPORT_SUMS                                                                            \
	"peak_bytes peak_blocks leaked_bytes leaked_blocks total_bytes calls temporary"

void csv_report_sums(struct csv_writer *csv, const struct site *sum);

/*
 * The columns of a stack. function, file, line and module are those of the innermost frame; stack
 * is all functions, innermost first, with ';' between them.
 */
#define CSV_REPORT_STACK "function file line module stack"
#define CSV_REPORT_SITES "own_peak_bytes " CSV_REPORT_SUMS " " CSV_REPORT_STACK

/* Writes these columns. scratch: a buffer in memory. */
struct err *csv_report_stack(struct csv_writer *csv, const struct report_subject *subject,
			     uint32_t node, struct buf *scratch);

/*
 * Writes the sites in descending order of the metric, at most `top` of them (0: all). path: the
 * recording's, for a first column; NULL: without that column.
 */
struct err *csv_report_write(struct csv_writer *csv, const struct report_subject *subject,
			     const char *path, enum metric metric, uint32_t top);

#endif
