/*
 * Source files, which are shown only if the user says so: at the paths that debug information has,
 * or below a directory. A recording may come from anywhere, so a path in it is not trusted.
 */
#ifndef MALLOW_SERVER_SOURCE_FILE_H
#define MALLOW_SERVER_SOURCE_FILE_H

#include <stdbool.h>
#include <time.h>

#include "hosted/buf.h"

/* Larger files are not shown. */
#define SOURCE_FILE_MOST (8u << 20)

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
 * Reads the file that a path of debug information means. With a directory: the one below it whose
 * path is the longest end of that path; links that lead out of it are not followed. *ret: zeroed if
 * there is none, or it is no regular file. The errors: it is too large, or cannot be read.
 */
struct err *source_file_read(const struct source_options *options, const char *path,
			     struct source_file *ret);

#endif
