/*
 * Bytes that can be read at any position: a file, memory, or pieces of files. A file is read by
 * pread() and never mapped: another process may truncate it at any moment, and touching a mapping
 * behind the end of its file kills. A file may also grow, so byte_source_size() asks each time.
 */
#ifndef MALLOW_HOSTED_FILES_BYTE_SOURCE_H
#define MALLOW_HOSTED_FILES_BYTE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"

/* size bytes of a file, which stand at `at` in the source. */
struct byte_piece {
	uint64_t at, size;
	uint64_t from; /* in the file */
	int fd;        /* borrowed */
};

struct byte_source {
	const char *name;    /* for messages, borrowed */
	const uint8_t *data; /* NULL: a file, or pieces */
	uint64_t size;
	int fd;
	const struct byte_piece *pieces; /* NULL: none */
	size_t piece_count;
};

/* Opens a regular file; anything else is an error. name is borrowed. */
struct err *byte_source_open(const char *name, struct byte_source *ret);
/* The same for a descriptor, which the source closes, and which is closed also if this fails. */
struct err *byte_source_take(const char *name, int fd, struct byte_source *ret);
/*
 * From now on byte_source_open() refuses a name that is another user's symbolic link (root's is
 * none): who can write into a directory that we show to others must not choose what they see. A
 * link that is ours or root's must name a file, and no further link. Links below /proc are the
 * kernel's. To be called before there are threads.
 */
void byte_source_refuse_links(void);
struct byte_source byte_source_memory(const char *name, const void *data, size_t size);
/*
 * Bytes that lie in pieces, perhaps of several files. pieces: by `at`, without overlap; borrowed.
 * What lies in no piece, or behind the end of its file, is zero. size: of the whole.
 */
struct byte_source byte_source_pieces(const char *name, const struct byte_piece *pieces,
				      size_t count, uint64_t size);
void byte_source_close(struct byte_source *source);

/* The present size in bytes. */
struct err *byte_source_size(const struct byte_source *source, uint64_t *ret);

/* The user whose file it is. UINT32_MAX: it is no file, or that is unknown. */
uint32_t byte_source_owner(const struct byte_source *source);

/* When the file was last written to, CLOCK_REALTIME in nanoseconds. 0: memory, or unknown. */
uint64_t byte_source_modified(const struct byte_source *source);

/* How many bytes of memory or disk the source takes: fewer than its size if it has holes. */
uint64_t byte_source_taken(const struct byte_source *source);

/*
 * The first offset from here on where something other than zeros may be: in pieces, where the next
 * one is; in a file, behind a hole. The source's size: there is nothing more. Moves the file offset
 * of a descriptor, which nobody here uses.
 */
uint64_t byte_source_next(const struct byte_source *source, uint64_t offset);

/*
 * The same for walks in steps of `unit` bytes, a power of two: the beginning of the unit with that
 * byte, never below offset. So a walk that goes on at `next(at + size of what was there)` ends,
 * also in a source of any size whose pieces begin anywhere.
 */
uint64_t byte_source_next_unit(const struct byte_source *source, uint64_t offset, uint64_t unit);

/* Reads up to size bytes at offset. *ret: how many; fewer only at the end of the source. */
struct err *byte_source_read(const struct byte_source *source, uint64_t offset, void *buffer,
			     size_t size, size_t *ret);

#endif
