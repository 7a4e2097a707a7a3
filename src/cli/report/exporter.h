/* Writes files in the formats of `mallow export`: report/export/exporters.def. */
#ifndef MALLOW_CLI_REPORT_EXPORTER_H
#define MALLOW_CLI_REPORT_EXPORTER_H

#include "report/export/tables.h"
#include "server/page/html_file.h"

#define EXPORTER(name, ...) " " #name
/* " html flamegraph …": +1 skips the first space. */
static const char exporter_names[] =
#include "report/export/exporters.def"
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

/* typed: NULL if no format was given. NULL: there is no such format, and an error was printed. */
const struct export_format *exporter_find(const char *typed);

/* Adds recordings to tables. */
typedef struct err *exporter_add(void *argument, struct tables *tables);

/* Writes tables into a folder, as output_folder_open() takes it. */
struct err *exporter_write_tables(const char *path, exporter_add *add, void *argument);

/*
 * Writes into a file, as output_open() takes it; compressed if its name says so. A format of tables
 * is written into a folder. What is not in the file is said on standard error. html: of the format
 * html, which reads the recording itself; its subject is empty. Else NULL.
 */
struct err *exporter_write(const struct export_format *format, const char *path,
			   const struct export_subject *subject, const struct html_export *html);

#endif
