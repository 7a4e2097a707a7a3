/* `mallow report --csv`: the sites, one a row, with their sums and stacks. */
#ifndef MALLOW_REPORT_CSV_CSV_REPORT_H
#define MALLOW_REPORT_CSV_CSV_REPORT_H

#include "hosted/csv_writer.h"
#include "report/subject.h"

/* The names of the columns that csv_report_sums() fills, parted by blanks. */
#define CSV_REPORT_SUMS                                                                            \
	"peak_bytes peak_blocks leaked_bytes leaked_blocks total_bytes calls temporary"

void csv_report_sums(struct csv_writer *csv, const struct site *sum);

/*
 * The columns of sites. The function, file, line and module are those of the innermost frame, the
 * stack is all of its functions, innermost first, with ';' between them.
 */
#define CSV_REPORT_SITES "own_peak_bytes " CSV_REPORT_SUMS " function file line module stack"

/*
 * By descending metric, top of them (0: all). path: of the recording, in a column in front, NULL:
 * there is none.
 */
struct err *csv_report_write(struct csv_writer *csv, const struct report_subject *subject,
			     const char *path, enum metric metric, uint32_t top);

#endif
