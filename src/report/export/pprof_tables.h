/*
 * The tables that samples of a pprof profile refer to: strings, functions, locations in the code,
 * and mappings (files). A row is written when it is first needed, but for mappings: these are
 * written at the end, when it is known what names they have.
 */
#ifndef MALLOW_REPORT_EXPORT_PPROF_TABLES_H
#define MALLOW_REPORT_EXPORT_PPROF_TABLES_H

#include "analysis/names/symbolized.h"
#include "hosted/buf.h"

struct pprof_tables;

/* The tables are written into profile. Both must outlive them. */
struct err *pprof_tables_create(struct symbolized *symbolized, struct buf *profile,
				struct pprof_tables **ret);
/* Accepts NULL. */
void pprof_tables_destroy(struct pprof_tables *tables);

/* *ret: the number of a text in the table of strings. NULL or "": 0. */
struct err *pprof_tables_string(struct pprof_tables *tables, const char *text, uint64_t *ret);

/* *ret: the number of a frame's location, which has the functions inlined there. */
struct err *pprof_tables_location(struct pprof_tables *tables, uint32_t frame, uint64_t *ret);

/* *ret: the number of a location that stands for a stack without frames. */
struct err *pprof_tables_no_stack(struct pprof_tables *tables, uint64_t *ret);

/*
 * Writes the mappings. The program's own file is first: pprof takes the first one for the
 * profile's.
 */
struct err *pprof_tables_finish(struct pprof_tables *tables);

#endif
