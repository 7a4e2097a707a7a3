/* Files that were compressed by zstd, lz4 or gzip, as files without a name that can be read
 * anywhere. */
#ifndef MALLOW_HOSTED_FILES_DECOMPRESSED_H
#define MALLOW_HOSTED_FILES_DECOMPRESSED_H

#include <stddef.h>

#include "hosted/err.h"

enum decompressed_kind {
	DECOMPRESSED_NONE,
	DECOMPRESSED_GZIP,
	DECOMPRESSED_ZSTD,
	DECOMPRESSED_LZ4,
};

/* What a file that begins with these bytes is compressed by. */
enum decompressed_kind decompressed_kind(const void *head, size_t size);

/* "gzip", "zstd", "lz4"; of DECOMPRESSED_NONE "". */
const char *decompressed_name(enum decompressed_kind kind);

/*
 * Decompresses the file at fd, which stays the caller's, into the cache folder. Zeros take no room
 * there. *ret: the new file, which the caller closes; -1: the file is not compressed.
 *
 * A damaged or cut file is no error: *ret then has what could be saved.
 */
struct err *decompressed_open(const char *name, int fd, int *ret);

#endif
