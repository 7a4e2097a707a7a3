/*
 * Files that were compressed by zstd, lz4, gzip or xz, as files without a name that can be read
 * anywhere.
 */
#ifndef MALLOW_HOSTED_FILES_DECOMPRESSED_H
#define MALLOW_HOSTED_FILES_DECOMPRESSED_H

#include <stdbool.h>
#include <stddef.h>

#include "hosted/err.h"

enum decompressed_kind {
	DECOMPRESSED_NONE,
	DECOMPRESSED_GZIP,
	DECOMPRESSED_ZSTD,
	DECOMPRESSED_LZ4,
	DECOMPRESSED_XZ,
};

/* What a file that begins with these bytes is compressed by. */
enum decompressed_kind decompressed_kind(const void *head, size_t size);

/* "gzip", "zstd", "lz4", "xz"; of DECOMPRESSED_NONE "". */
const char *decompressed_name(enum decompressed_kind kind);

/*
 * Reads the first bytes of the file at fd, decompressed if it is compressed. *ret: how many; fewer
 * than size only if there are no more, or the first part of the file is damaged.
 */
struct err *decompressed_head(const char *name, int fd, void *buffer, size_t size, size_t *ret);

/*
 * Decompresses the file at fd, which stays the caller's, into the cache folder. Zeros take no room
 * there. *ret: the new file, which the caller closes; -1: the file is not compressed.
 *
 * A damaged or cut file is no error: *ret then has what could be saved, and *whole is false.
 */
struct err *decompressed_open(const char *name, int fd, int *ret, bool *whole);

#endif
