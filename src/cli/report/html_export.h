/* A recording as one HTML file with the web interface in it: what `export` and `check` share. */
#ifndef MALLOW_CLI_REPORT_HTML_EXPORT_H
#define MALLOW_CLI_REPORT_HTML_EXPORT_H

#include "server/page/html_file.h"

struct html_export {
	const char *path;               /* the recording */
	const char *const *debug_paths; /* as of struct catalog_options */
	struct source_options sources;
	const char *conditions; /* as of struct html_file_options */
	const char *check;      /* the same */
	uint64_t nodes;
	bool anonymous;
};

/* Writes the file. A progress bar is drawn on a terminal meanwhile. */
struct err *html_export_write(struct buf *buf, const struct html_export *wanted);

#endif
