/*
 * The web interface and the answers that it needs, as one HTML file, which asks no server:
 *
 *	index.html with app.css, app.js and file.js in it
 *	<script id="file">     what the file is: FileFacts in web/src/api/file.ts
 *	<script id="answer-0"> the answer to the first question
 *	…
 *
 * What is in these scripts is JSON, packed by gzip, as base64. The questions are the page's own
 * list (web/src/file/questions.txt). Each is asked as by HTTP, so every number is the server's.
 */
#ifndef MALLOW_SERVER_PAGE_HTML_FILE_H
#define MALLOW_SERVER_PAGE_HTML_FILE_H

#include "server/data/catalog.h"

#define HTML_FILE_NODES 20000u /* unless the user says otherwise */

struct html_file_options {
	const char *id;         /* the recording's, or "last" */
	bool sources;           /* with the source files that the catalog shows */
	uint64_t nodes;         /* so many of each flame graph, the widest; at least 1 */
	bool anonymous;         /* the catalog's answers have no paths, arguments, host: said so */
	const char *name;       /* the recording's file, for the command that shows all of it */
	const char *conditions; /* "name=value&…", encoded, that hold for all; "": none */
	const char *check;      /* what `mallow check` said of the recording; NULL: nothing */
	/* Called after each answer. NULL: not wanted. */
	recording_progress *progress;
	void *argument;
};

/*
 * Appends the file to buf. An error: there is no memory, the recording cannot be opened or cannot
 * answer a condition, or this mallow was built without the web interface.
 */
struct err *html_file_write(struct catalog *catalog, const struct html_file_options *options,
			    struct buf *buf);

#endif
