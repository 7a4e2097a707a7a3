/*
 * Files of other profilers as recordings: formats.def lists them. A file is known by its content,
 * never by its name, and is decompressed by the way (gzip, zstd, xz, lz4).
 *
 *	import.c      which format it is; opens the files, ends the recording
 *	read_*.c      a reader for each format; docs/import.md lists them for users
 *	text.h        the bounded cursor that they read lines with
 *	sink.h        where they put what they read
 */
#ifndef MALLOW_IMPORT_IMPORT_H
#define MALLOW_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "hosted/err.h"

/* A file to import: its name for messages, and a descriptor, which stays the caller's. */
struct import_file {
	const char *name;
	int fd;
};

/* *ret: the name of the file's format; NULL: it is none that mallow reads. */
struct err *import_format(const struct import_file *file, const char **ret);

/*
 * Writes one recording of the files into an empty file, which is closed afterwards. Several files
 * are moments of one process, in their order: they must be sums. An error says which file and line
 * was malformed.
 */
struct err *import_write(const struct import_file *files, size_t count, int to);

/* The same into a file without a name. *ret: its descriptor, the caller's. */
struct err *import_open(const struct import_file *files, size_t count, int *ret);

#endif
