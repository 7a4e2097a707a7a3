/*
 * What the samples of a pprof profile refer to: strings, functions, places in the code, and the
 * files that these lie in. Each is written when it is first needed; the files, at the end, when it
 * is known what they have.
 */
#ifndef MALLOW_REPORT_EXPORT_PPROF_TABLES_H
#define MALLOW_REPORT_EXPORT_PPROF_TABLES_H

#include "analysis/names/symbolized.h"
#include "hosted/buf.h"

struct pprof_tables;

/* They are written into profile. Both must outlive it. */
struct err *pprof_tables_create(struct symbolized *symbolized, struct buf *profile,
				struct pprof_tables **ret);
/* Accepts NULL. */
void pprof_tables_destroy(struct pprof_tables *tables);

/* The number of a text in the table of strings; NULL or "": 0. */
struct err *pprof_tables_string(struct pprof_tables *tables, const char *text, uint64_t *ret);

/* The number of a frame's place, with the lines inlined there. */
struct err *pprof_tables_location(struct pprof_tables *tables, uint32_t frame, uint64_t *ret);

/* That of the innermost frame of a stack without any. */
struct err *pprof_tables_no_stack(struct pprof_tables *tables, uint64_t *ret);

/* The files, the program's own first: that is what pprof calls the profile's. */
struct err *pprof_tables_finish(struct pprof_tables *tables);

#endif
