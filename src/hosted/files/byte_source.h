/*
 * Bytes to read at any position: a file, or memory. A file is read with pread() and never mapped:
 * another process may cut it short at any moment, and touching a mapping behind its end kills.
 * It may also grow: byte_source_size() asks each time.
 */
#ifndef MALLOW_HOSTED_FILES_BYTE_SOURCE_H
#define MALLOW_HOSTED_FILES_BYTE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"

struct byte_source {
	const char *name;    /* for messages, borrowed */
	const uint8_t *data; /* NULL: a file */
	uint64_t size;
	int fd;
};

/* Regular files only. name is borrowed. */
struct err *byte_source_open(const char *name, struct byte_source *ret);
/* The same of a descriptor, which becomes the source's own also when this fails. */
struct err *byte_source_take(const char *name, int fd, struct byte_source *ret);
struct byte_source byte_source_memory(const char *name, const void *data, size_t size);
void byte_source_close(struct byte_source *source);

/* The size now. */
struct err *byte_source_size(const struct byte_source *source, uint64_t *ret);

/* When the file was last written to, in nanoseconds of the real time clock. 0: memory, or unknown.
 */
uint64_t byte_source_modified(const struct byte_source *source);

/* How much of it takes memory or disk: less than its size where it has holes. */
uint64_t byte_source_taken(const struct byte_source *source);

/* Reads up to size bytes; *ret is less only at the end. */
struct err *byte_source_read(const struct byte_source *source, uint64_t offset, void *buffer,
			     size_t size, size_t *ret);

#endif
