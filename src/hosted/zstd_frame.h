/* Compresses bytes into one zstd frame, and decompresses one. */
#ifndef MALLOW_HOSTED_ZSTD_FRAME_H
#define MALLOW_HOSTED_ZSTD_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"

/* *ret: how many bytes the frame at data says it holds. false: it is no frame, or does not say. */
bool zstd_frame_content(const void *data, size_t size, uint64_t *ret);

/*
 * Decompresses the frame at data, size bytes, into `into`, which has room bytes. *ret: how many
 * bytes came out. *whole: these are all, and nothing follows the frame. If not, the frame is
 * damaged or cut, or room was too small, and *ret is what could be saved. The only error: no
 * memory.
 */
struct err *zstd_frame_read(const void *data, size_t size, void *into, size_t room, size_t *ret,
			    bool *whole);

/* The most bytes that a frame with a content of size bytes can take. */
size_t zstd_frame_bound(size_t size);

/* A compressor for any number of frames. Belongs to one thread. */
struct zstd_writer;

struct err *zstd_writer_create(int level, struct zstd_writer **ret);
/* Accepts NULL. */
void zstd_writer_destroy(struct zstd_writer *writer);

/*
 * Writes one frame into `into`, which has room bytes; the frame says its content's size. *ret: the
 * frame's own size. zstd_frame_bound() bytes are always enough; too little room is an error.
 */
struct err *zstd_writer_frame(struct zstd_writer *writer, const void *data, size_t size, void *into,
			      size_t room, size_t *ret);

#endif
