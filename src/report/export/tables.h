/*
 * Recordings as tables for databases: Parquet files, one for each table of tables.def.
 *
 *	tables_create(bufs, &tables);
 *	err = tables_add(tables, &subject);      for each recording
 *	err = tables_finish(tables);
 */
#ifndef MALLOW_REPORT_EXPORT_TABLES_H
#define MALLOW_REPORT_EXPORT_TABLES_H

#include "hosted/parquet_writer.h"
#include "report/export/export_format.h"

enum table {
#define TABLE(NAME, name, text) TABLE_##NAME,
#define COLUMN(NAME, name, type, text)
#include "report/export/tables.def"
	TABLE_COUNT,
#undef TABLE
#undef COLUMN
};

/* What tables.def says. */
struct table_info {
	const char *name;
	const char *file; /* the same with ".parquet" */
	const char *text;
	const struct parquet_column *columns;
	const char *const *texts; /* of each column */
	size_t column_count;
};

struct table_info table_info(enum table table);

struct tables;

/* bufs: of each table, where its file goes. They must outlive *ret. */
struct err *tables_create(struct buf *const bufs[TABLE_COUNT], struct tables **ret);
/* Accepts NULL. */
void tables_destroy(struct tables *tables);
CLEANUP_DEFINE(struct tables *, tables_destroy);

/*
 * Adds a recording, which is not needed afterwards. Of a stack that another one had, `stacks` and
 * `frames` get no row. An error leaves files that mean nothing.
 */
struct err *tables_add(struct tables *tables, const struct export_subject *subject);

/* Writes the ends of the files. */
struct err *tables_finish(struct tables *tables);

#endif
