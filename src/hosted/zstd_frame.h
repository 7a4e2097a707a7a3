/* Compressed bytes: one zstd frame in, bytes out, and the reverse. */
#ifndef MALLOW_HOSTED_ZSTD_FRAME_H
#define MALLOW_HOSTED_ZSTD_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"

/* How much the frame at data says that it holds; false: it is no frame, or does not say. */
bool zstd_frame_content(const void *data, size_t size, uint64_t *ret);

/*
 * Decompresses into room bytes. *ret receives how many came out, *whole whether these are all and
 * exactly the bytes at data were their frame: else it is damaged, cut, or room was too small, and
 * *ret says how many could be saved.
 */
struct err *zstd_frame_read(const void *data, size_t size, void *into, size_t room, size_t *ret,
			    bool *whole);

/* How many bytes a frame of so much content takes at most. */
size_t zstd_frame_bound(size_t size);

/* A compressor for any number of frames. Belongs to one thread. */
struct zstd_writer;

struct err *zstd_writer_create(int level, struct zstd_writer **ret);
/* Accepts NULL. */
void zstd_writer_destroy(struct zstd_writer *writer);

/*
 * One frame, which says its content's size, into room bytes; *ret receives its own size.
 * zstd_frame_bound() is always enough room; too little is an error.
 */
struct err *zstd_writer_frame(struct zstd_writer *writer, const void *data, size_t size, void *into,
			      size_t room, size_t *ret);

#endif
