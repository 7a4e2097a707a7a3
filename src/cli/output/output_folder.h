/* A folder that a command writes files into. They get their names only when all are complete. */
#ifndef MALLOW_CLI_OUTPUT_OUTPUT_FOLDER_H
#define MALLOW_CLI_OUTPUT_OUTPUT_FOLDER_H

#include "cli/output/output.h"

#define OUTPUT_FOLDER_FILES 8

/* The bufs of the files take any bytes. */
struct output_folder {
	struct output files[OUTPUT_FOLDER_FILES];
	size_t count;
	const char *path; /* borrowed */
	bool made;        /* it was not there before */
};

/*
 * Makes the folder, or takes one that is there, and opens these files in it. A file, or a folder
 * with any other files, is refused. *ret must not move; output_folder_close() ends it, also after
 * an error.
 */
struct err *output_folder_open(const char *path, const char *const *names, size_t count,
			       struct output_folder *ret);

/* As output_close() for all files. After an error nothing is left of what was written. */
struct err *output_folder_close(struct output_folder *folder, struct err *err);

#endif
