/*
 * Source files, which are shown only if the user says so: at the paths that debug information has,
 * or below a directory. A recording may come from anywhere, so a path in it is not trusted.
 */
#ifndef MALLOW_SERVER_DATA_SOURCE_FILE_H
#define MALLOW_SERVER_DATA_SOURCE_FILE_H

#include <stdbool.h>
#include <time.h>

#include "hosted/buf.h"

/* Larger files are not shown. */
#define SOURCE_FILE_MOST (8u << 20)

struct recording_facts;

struct source_options {
	bool served;
	const char *directory; /* borrowed; NULL: files are where their paths say */
};

struct source_file {
	char *path; /* where it was found, owned; NULL: nowhere */
	struct timespec changed;
	struct buf text;
};

void source_file_deinit(struct source_file *file);

/*
 * Why the files of a recording are not looked for where its frames say: it may name any file, and
 * whoever may read the answer need not be allowed to read that. NULL: they are.
 */
const char *source_file_doubt(const struct source_options *options,
			      const struct recording_facts *facts);

/*
 * Reads the file that a path of debug information means. With a directory: the one below it whose
 * path is the longest end of that path; links that lead out of it are not followed. *ret: zeroed if
 * there is none, or it is no regular file. Without a directory no link is followed, and the file is
 * opened with the rights of the recording's owner. The errors: it is too large, or cannot be read.
 */
struct err *source_file_read(const struct source_options *options,
			     const struct recording_facts *facts, const char *path,
			     struct source_file *ret);

#endif
