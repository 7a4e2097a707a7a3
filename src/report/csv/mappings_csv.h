/* `mallow report --mappings --csv`: a row for each stack by which the program mapped something. */
#ifndef MALLOW_REPORT_CSV_MAPPINGS_CSV_H
#define MALLOW_REPORT_CSV_MAPPINGS_CSV_H

#include "analysis/views/map_sites.h"
#include "report/csv/csv_report.h"

#define CSV_REPORT_MAPPINGS                                                                        \
	"kind peak_bytes left_bytes left_mappings total_bytes mappings " CSV_REPORT_STACK

/* As csv_report_write(). */
struct err *mappings_csv_write(struct csv_writer *csv, const struct report_subject *subject,
			       const struct map_sites *sites, const char *path, enum metric metric,
			       uint32_t top);

#endif
